// The bound of the queue of reports between the engines of a device. [MRC-EVS-16]
#include "device/shard_inbox.h"

#include <gtest/gtest.h>

namespace mrc::device {
namespace {

TEST(ShardInbox, push__drops_what_finds_no_room) {
  ShardInbox inbox;
  const core::PathReport report{IpAddress::v4(10, 0, 0, 1), 0, plane_at(0)};
  for (size_t i = 0; i < ShardInbox::kMaxReports; ++i) ASSERT_TRUE(inbox.push(report));
  EXPECT_FALSE(inbox.push(report));
  EXPECT_EQ(inbox.take().size(), ShardInbox::kMaxReports);
  EXPECT_TRUE(inbox.push(report));
}

}  // namespace
}  // namespace mrc::device
