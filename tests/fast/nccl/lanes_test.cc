// The identifiers of work requests (lanes.h).
#include "lanes.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace mrc::nccl {

namespace {

TEST(WorkId, kind_lane_and_detail_have_their_bits) {
  EXPECT_EQ((WorkId{Work::kSend, 0, 0}.pack()), 0x0100000000000000U);
  EXPECT_EQ((WorkId{Work::kKeepalive, 0, 0}.pack()), 0x0500000000000000U);
  EXPECT_EQ((WorkId{Work::kRecord, 2, 3}.pack()), 0x0202000000000003U);
  EXPECT_EQ((WorkId{Work::kSlots, kMaxLanes - 1, UINT32_MAX}.pack()), 0x037F0000FFFFFFFFU);
}

TEST(WorkId, unpack__returns_what_was_packed) {
  for (const Work kind : {Work::kSend, Work::kRecord, Work::kSlots, Work::kReceive, Work::kKeepalive})
    for (const int lane : {0, 1, kMaxLanes - 1})
      for (const uint32_t detail : {0U, 1U, 0x80000000U, UINT32_MAX}) {
        const WorkId id = WorkId::unpack(WorkId{kind, lane, detail}.pack());
        EXPECT_EQ(id.kind, kind);
        EXPECT_EQ(id.lane, lane);
        EXPECT_EQ(id.detail, detail);
      }
}

}  // namespace

}  // namespace mrc::nccl
