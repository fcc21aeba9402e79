#include "wire/opcodes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mrc::wire {
namespace {

struct Row {
  int op;
  const char* name;
  uint32_t bytes, bytes_ts;  // headers without and with BTH.ts
  bool request, starts, ends, imm;
};

// [MRC-BTH-1] [MRC-EXT-1] [MRC-UD-1]
constexpr Row kTable[] = {
    {0x64, "DATAGRAM", 20, 20, false, false, false, false},
    {0x65, "DATAGRAM_IMM", 24, 24, false, false, false, true},
    {0xC6, "WRITE_FIRST", 32, 36, true, true, false, false},
    {0xC7, "WRITE_MIDDLE", 32, 36, true, false, false, false},
    {0xC8, "WRITE_LAST", 32, 36, true, false, true, false},
    {0xC9, "WRITE_LAST_IMM", 36, 40, true, false, true, true},
    {0xCA, "WRITE_ONLY", 32, 36, true, true, true, false},
    {0xCB, "WRITE_ONLY_IMM", 36, 40, true, true, true, true},
    {0xD1, "ACK", 16, 16, false, false, false, false},
    {0xD8, "ENDPOINT_REQUEST", 28, 28, false, false, false, false},
    {0xD9, "ENDPOINT_RESPONSE", 48, 48, false, false, false, false},
    {0xDA, "PLANE_REQUEST", 48, 48, false, false, false, false},
    {0xDB, "PLANE_RESPONSE", 48, 48, false, false, false, false},
    {0xDC, "SACK", 48, 48, false, false, false, false},
    {0xDD, "NACK", 32, 32, false, false, false, false},
    {0xDE, "PROBE", 28, 28, false, false, false, false},
};

TEST(Opcodes, every_opcode_has_its_headers_and_properties_and_others_are_unknown) {
  std::set<int> known;
  for (const Row& r : kTable) {
    SCOPED_TRACE(r.name);
    const Opcode op = static_cast<Opcode>(r.op);
    EXPECT_STREQ(opcode_name(op), r.name);
    EXPECT_EQ(header_bytes(op, false), r.bytes);
    EXPECT_EQ(header_bytes(op, true), r.bytes_ts);
    EXPECT_EQ(is_request(op), r.request);
    EXPECT_EQ(is_datagram(op), r.op < 0x80);
    EXPECT_EQ(is_control(op), !r.request && !is_datagram(op));
    EXPECT_EQ(ends_message(op), r.ends);
    EXPECT_EQ(is_only(op), r.starts && r.ends);
    EXPECT_EQ(is_last(op), r.ends && !r.starts);
    EXPECT_EQ(with_imm(op), r.imm);
    known.insert(r.op);
  }
  for (int v = 0; v < 256; ++v) {
    const Opcode op = static_cast<Opcode>(v);
    EXPECT_EQ(is_known(op), known.count(v) == 1) << v;
    if (known.count(v) == 0) {
      EXPECT_EQ(header_bytes(op, true), 0u) << v;
      EXPECT_STREQ(opcode_name(op), "UNKNOWN") << v;
    }
  }
}

}  // namespace
}  // namespace mrc::wire
