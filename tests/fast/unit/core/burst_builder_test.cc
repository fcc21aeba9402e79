// Packets in a burst: sizes, neighbouring pieces, pad, ICRC, and the late AckReq; by reference and
// staged.
#include "core/burst_builder.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace mrc::core {
namespace {

constexpr uint8_t kAckReqMask = wire::flag_mask<wire::Bth>("ack_req");

class BurstBuilderTest : public testing::Test {
 protected:
  BurstBuilderTest() : burst_(std::make_unique<TxBurst>()) {
    burst_->flow.src = IpAddress::v4(10, 0, 0, 1);
    burst_->flow.dst = IpAddress::v4(10, 0, 0, 2);
    burst_->flow.src_port = 50000;
    burst_->flow.dst_port = 4791;
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<uint8_t>(i * 31 + 1);
  }
  void add_write(BurstBuilder* builder, uint32_t offset, uint32_t n, int pieces = 1) {
    wire::Bth bth;
    bth.psn = Psn(next_psn_++);
    bth.pad = wire::pad_for(n);
    wire::Reth reth;
    reth.dmalen = n;
    const uint32_t len =
        wire::encode_request_headers(builder->header(), wire::Opcode::kWriteOnly, bth, {}, nullptr, reth, nullptr);
    const uint32_t first = n / static_cast<uint32_t>(pieces);
    const iovec iov[2] = {{&bytes_[offset], pieces == 1 ? n : first}, {&bytes_[offset + first], n - first}};
    builder->add(len, iov, pieces, n);
  }
  // The burst cut into its segments.
  std::vector<std::vector<uint8_t>> segments() const {
    std::vector<uint8_t> all;
    for (uint32_t i = 0; i < burst_->iov_count; ++i) {
      const auto* p = static_cast<const uint8_t*>(burst_->iov[i].iov_base);
      all.insert(all.end(), p, p + burst_->iov[i].iov_len);
    }
    EXPECT_EQ(all.size(), burst_->bytes);
    std::vector<std::vector<uint8_t>> cut;
    for (size_t at = 0; at < all.size(); at += burst_->segment_size) {
      const size_t n = std::min<size_t>(burst_->segment_size, all.size() - at);
      cut.emplace_back(all.begin() + static_cast<ptrdiff_t>(at), all.begin() + static_cast<ptrdiff_t>(at + n));
    }
    return cut;
  }
  // The segments of packets of many sizes and piece counts, AckReq set late on the last.
  std::vector<std::vector<uint8_t>> build(uint32_t n, uint32_t last, int pieces, uint32_t count) {
    next_psn_ = 0xFFFFFE;
    BurstBuilder builder(burst_.get(), true);
    for (uint32_t i = 0; i < count; ++i) add_write(&builder, i * 7, i + 1 < count ? n : last, pieces);
    builder.set_ack_req_on_last();
    builder.finish();
    return segments();
  }
  bool sealed(const std::vector<uint8_t>& packet) const {
    const auto n = static_cast<uint32_t>(packet.size());
    return wire::icrc_load(packet.data() + n - 4) == wire::icrc_compute(burst_->flow, {packet.data(), n});
  }

  std::unique_ptr<TxBurst> burst_;
  std::array<uint8_t, 1024> bytes_;
  uint32_t next_psn_ = 0xFFFFFE;
};

// [MRC-ICRC-6]: one prefix for packets of one size, another for the shorter last one.
TEST_F(BurstBuilderTest, every_packet_decodes_with_its_payload_and_icrc) {
  BurstBuilder builder(burst_.get(), true);
  add_write(&builder, 0, 200);
  add_write(&builder, 200, 200, 2);
  add_write(&builder, 400, 50);
  builder.finish();
  const auto cut = segments();
  ASSERT_EQ(cut.size(), 3u);
  EXPECT_EQ(burst_->segments, 3u);
  const uint32_t offsets[] = {0, 200, 400}, lengths[] = {200, 200, 50};
  const uint32_t psns[] = {0xFFFFFE, 0xFFFFFF, 0};
  for (size_t i = 0; i < 3; ++i) {
    wire::Packet p;
    ASSERT_EQ(wire::decode(cut[i], &p), wire::DecodeError::kOk);
    EXPECT_EQ(p.bth.psn, Psn(psns[i]));
    ASSERT_EQ(p.payload_len, lengths[i]);
    EXPECT_EQ(std::memcmp(p.payload, &bytes_[offsets[i]], lengths[i]), 0);
    EXPECT_TRUE(sealed(cut[i])) << i;
    EXPECT_FALSE(p.bth.ack_req);
  }
}

TEST_F(BurstBuilderTest, payload_goes_by_reference_and_trailers_join_the_next_headers) {
  BurstBuilder builder(burst_.get(), true);
  add_write(&builder, 0, 64);
  add_write(&builder, 64, 64);
  builder.finish();
  // headers, payload, trailer and headers, payload, trailer
  ASSERT_EQ(burst_->iov_count, 5u);
  EXPECT_EQ(burst_->iov[1].iov_base, &bytes_[0]);
  EXPECT_EQ(burst_->iov[3].iov_base, &bytes_[64]);
}

TEST_F(BurstBuilderTest, without_payload_one_piece_is_enough) {
  BurstBuilder builder(burst_.get(), true);
  for (int i = 0; i < 4; ++i) {
    wire::Bth bth;
    builder.add(wire::encode_ack(builder.header(), bth, {}), nullptr, 0, 0);
  }
  builder.finish();
  EXPECT_EQ(burst_->iov_count, 1u);
  for (const auto& packet : segments()) EXPECT_TRUE(sealed(packet));
}

// [MRC-BTH-3]
TEST_F(BurstBuilderTest, pad_is_zero_whatever_stood_there) {
  burst_->headers.fill(0xAA);
  for (uint32_t n : {1u, 2u, 3u, 4u}) {
    BurstBuilder builder(burst_.get(), true);
    add_write(&builder, 0, n);
    builder.finish();
    const auto packet = segments().at(0);
    EXPECT_EQ(packet.size() % 4, 0u);
    for (uint32_t i = 0; i < wire::pad_for(n); ++i) EXPECT_EQ(packet[packet.size() - 5 - i], 0) << n;
    EXPECT_TRUE(sealed(packet)) << n;
  }
}

TEST_F(BurstBuilderTest, ack_req_on_the_last_only_and_covered_by_its_icrc) {
  BurstBuilder builder(burst_.get(), true);
  builder.set_ack_req_on_last();  // nothing yet: no harm
  add_write(&builder, 0, 8);
  add_write(&builder, 8, 8);
  builder.set_ack_req_on_last();
  builder.finish();
  const auto cut = segments();
  EXPECT_EQ(cut[0][8] & kAckReqMask, 0);
  EXPECT_NE(cut[1][8] & kAckReqMask, 0);
  EXPECT_TRUE(sealed(cut[0]));
  EXPECT_TRUE(sealed(cut[1]));
}

class StagedBurstTest : public BurstBuilderTest {
 protected:
  // The former content shows where a byte was left out.
  void stage(uint8_t before) {
    room_.assign(kMaxBurstBytes + kHeaderRoom, before);
    burst_->staging = room_.data();
  }
  std::vector<uint8_t> room_;
};

// [MRC-ICRC-6]
TEST_F(StagedBurstTest, carries_the_bytes_of_a_burst_by_reference_in_one_piece) {
  const struct {
    uint32_t n, last;
    int pieces;
  } cases[] = {{256, 256, 1}, {256, 1, 1}, {64, 62, 2}, {4, 3, 2}, {250, 250, 2}, {511, 130, 1}};
  for (const auto& c : cases) {
    for (uint32_t count : {1u, 2u, 5u}) {
      burst_->staging = nullptr;
      const auto by_reference = build(c.n, c.last, c.pieces, count);
      stage(0xAA);
      EXPECT_EQ(build(c.n, c.last, c.pieces, count), by_reference) << c.n << " x " << count;
      ASSERT_EQ(burst_->iov_count, 1u);
      EXPECT_EQ(burst_->iov[0].iov_base, room_.data());
      EXPECT_EQ(burst_->iov[0].iov_len, burst_->bytes);
      EXPECT_EQ(burst_->segments, count);
      for (const auto& packet : by_reference) EXPECT_TRUE(sealed(packet));
      EXPECT_EQ(room_[burst_->bytes], 0xAA);  // nothing behind the burst
    }
  }
}

// [MRC-BTH-3]
TEST_F(StagedBurstTest, pad_is_zero_and_the_late_ack_req_is_under_the_icrc) {
  for (uint32_t n : {1u, 2u, 3u, 4u}) {
    stage(0xAA);
    const auto cut = build(n, n, 1, 2);
    ASSERT_EQ(cut.size(), 2u);
    EXPECT_EQ(cut[0][8] & kAckReqMask, 0);
    EXPECT_NE(cut[1][8] & kAckReqMask, 0);
    for (const auto& packet : cut) {
      for (uint32_t i = 0; i < wire::pad_for(n); ++i) EXPECT_EQ(packet[packet.size() - 5 - i], 0) << n;
      EXPECT_TRUE(sealed(packet)) << n;
    }
  }
}

// An ACK behind data: headers alone, between and behind packets with payload.
TEST_F(StagedBurstTest, packets_without_payload_join_the_piece) {
  stage(0xAA);
  BurstBuilder builder(burst_.get(), true);
  add_write(&builder, 0, 200, 2);
  builder.add(wire::encode_ack(builder.header(), wire::Bth(), {}), nullptr, 0, 0);
  builder.finish();
  ASSERT_EQ(burst_->iov_count, 1u);
  const auto cut = segments();
  ASSERT_EQ(cut.size(), 2u);
  for (const auto& packet : cut) EXPECT_TRUE(sealed(packet));
  EXPECT_EQ(cut[1].size(), wire::packet_bytes(wire::Opcode::kAck, false, 0));
}

// The largest burst: the last packet ends within the room that burst.h asks for.
TEST_F(StagedBurstTest, room_is_bounded_by_segments_alone) {
  stage(0xAA);
  BurstBuilder builder(burst_.get(), true);
  for (uint32_t i = 0; i < kMaxSegments; ++i) {
    ASSERT_TRUE(builder.room(1)) << i;
    add_write(&builder, 0, 900);
  }
  EXPECT_FALSE(builder.room(0));
  builder.finish();
  ASSERT_LE(burst_->bytes, kMaxBurstBytes);
  EXPECT_EQ(burst_->iov_count, 1u);
  for (const auto& packet : segments()) EXPECT_TRUE(sealed(packet));
}

// Without ICRC there is no pass over the payload, and copying would cost one.
TEST_F(StagedBurstTest, without_icrc_payload_goes_by_reference) {
  stage(0xAA);
  BurstBuilder builder(burst_.get(), false);
  add_write(&builder, 0, 64);
  builder.finish();
  EXPECT_EQ(burst_->iov[1].iov_base, &bytes_[0]);
}

// [API-MEM-2]: for drivers that must not read the application's memory.
TEST_F(StagedBurstTest, without_icrc_payload_is_staged_on_request) {
  const auto by_reference = [&] {
    BurstBuilder builder(burst_.get(), false);
    add_write(&builder, 0, 64, 2);
    add_write(&builder, 64, 30);
    builder.finish();
    return segments();
  }();
  stage(0xAA);
  burst_->always_staged = true;
  next_psn_ = 0xFFFFFE;
  BurstBuilder builder(burst_.get(), false);
  add_write(&builder, 0, 64, 2);
  add_write(&builder, 64, 30);
  builder.finish();
  EXPECT_EQ(burst_->iov_count, 1u);
  EXPECT_EQ(segments(), by_reference);
}

TEST_F(BurstBuilderTest, without_icrc_the_trailer_is_zero) {
  BurstBuilder builder(burst_.get(), false);
  add_write(&builder, 0, 8);
  builder.finish();
  EXPECT_EQ(wire::icrc_load(segments()[0].data() + burst_->bytes - 4), 0u);
}

TEST_F(BurstBuilderTest, room_ends_with_segments_or_pieces) {
  BurstBuilder builder(burst_.get(), false);
  EXPECT_TRUE(builder.room(kMaxIov - 2));
  EXPECT_FALSE(builder.room(kMaxIov - 1));
  for (uint32_t i = 0; i < kMaxSegments; ++i) {
    ASSERT_TRUE(builder.room(1)) << i;
    add_write(&builder, 0, 16);
  }
  EXPECT_FALSE(builder.room(0));
  builder.finish();
  EXPECT_EQ(segments().size(), kMaxSegments);
}

TEST_F(BurstBuilderTest, pieces_and_packets_have_the_same_bytes) {
  BurstBuilder good(burst_.get(), false);
  add_write(&good, 0, 100, 2);
  add_write(&good, 100, 60);
  good.finish();
  BurstBuilder torn(burst_.get(), false);
  const iovec payload = {bytes_.data(), 8};
  torn.add(wire::Bth::kSize, &payload, 1, 12);
  if (kCheckInvariants) {
    EXPECT_DEATH(torn.finish(), "bytes == b_.bytes");
  }
  BurstBuilder uneven(burst_.get(), false);
  add_write(&uneven, 0, 60);
  add_write(&uneven, 60, 100);
  add_write(&uneven, 160, 100);
  if (kCheckInvariants) {
    EXPECT_DEATH(uneven.finish(), "== b_.segments");
  }
}

}  // namespace
}  // namespace mrc::core
