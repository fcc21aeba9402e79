#include "wire/text.h"

#include <gtest/gtest.h>

#include <set>

#include "vectors.h"

namespace mrc::wire {
namespace {

std::string golden_text(size_t index) {
  const auto packets = golden_packets();
  return bytes_to_text(packets.at(index).bytes);
}

TEST(Text, request_shows_every_field) {
  EXPECT_EQ(golden_text(3),
            "WRITE_LAST_IMM dqp=0x000123 psn=16777214 a=0 rtx=1 ts=1 pad=0 pkey=0xffff rqmsn=7 msn=9 "
            "tx_timestamp=48879 tsr=0 ftype=1 va=0x100020003000 rkey=0xaabbccdd dmalen=4096 imm=0x01020304 payload=64");
}

TEST(Text, sack_shows_every_field) {
  EXPECT_EQ(golden_text(8),
            "SACK dqp=0x000123 psn=16 a=0 rtx=0 ts=0 pad=0 pkey=0xffff m=none pr=1 probe_id=30600 ev=0x00071234 "
            "spdcid=0x0123 dpdcid=0x0456 cack=16 cc_type=0 cc_fl=0 mpr=0 sack_offset=-3 bitmap=0x000000000000000f "
            "tx_timestamp=48879 ooo=0 restore_cwnd=1 pen=64 rcvd_bytes=11259375");
}

TEST(Text, nack_names_its_reason) {
  EXPECT_NE(golden_text(9).find("reason=TRIMMED(0x01)"), std::string::npos);
  const NackReason all[] = {NackReason::kTrimmed,     NackReason::kTrimmedLastHop, NackReason::kNoBitmap,
                            NackReason::kNoPktBuffer, NackReason::kNoResource,     NackReason::kPsnOorWindow,
                            NackReason::kUnexpEvent};
  std::set<std::string> names;
  for (NackReason r : all) names.insert(nack_reason_name(r));
  EXPECT_EQ(names.size(), 7u);
  EXPECT_EQ(names.count("UNKNOWN"), 0u);
  EXPECT_STREQ(nack_reason_name(static_cast<NackReason>(0)), "UNKNOWN");
}

TEST(Text, one_line_for_every_packet) {
  for (size_t i = 0; i < golden_packets().size(); ++i) {
    const std::string text = golden_text(i);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(text.find("undecodable"), std::string::npos) << text;
  }
}

TEST(Text, trimmed_packet_shows_no_field_it_does_not_have) {
  const auto g = golden_packets().at(0);
  Packet p;
  ASSERT_EQ(decode_trimmed({g.bytes.data(), 20}, &p), DecodeError::kOk);
  EXPECT_EQ(to_text(p),
            "WRITE_FIRST dqp=0x000123 psn=16777214 a=0 rtx=0 ts=1 pad=0 pkey=0xffff rqmsn=7 msn=9 "
            "tx_timestamp=48879 tsr=0 ftype=1 trimmed");
}

TEST(Text, undecodable_bytes_show_error_and_hex) {
  const uint8_t bytes[] = {0xC6, 0x00, 0xFF};
  EXPECT_EQ(bytes_to_text(bytes), "undecodable (short BTH) length=3 bytes=c600ff");
  EXPECT_EQ(bytes_to_text({}), "undecodable (short BTH) length=0 bytes=");
}

TEST(Text, every_error_has_a_name) {
  std::set<std::string> names;
  const int last = static_cast<int>(DecodeError::kNotRequest);
  for (int e = 0; e <= last; ++e) names.insert(decode_error_name(static_cast<DecodeError>(e)));
  EXPECT_EQ(names.size(), static_cast<size_t>(last + 1));
  EXPECT_EQ(names.count("unknown"), 0u);
}

}  // namespace
}  // namespace mrc::wire
