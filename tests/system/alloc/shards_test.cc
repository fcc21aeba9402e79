// A device of two engines when memory runs out. CTest runs each suite in a process of its own, which its configuration
// needs.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

#include "alloc/open_device.h"
#include "api/cq.h"
#include "harness/counted_new.h"
#include "mrc.h"
#include "mrc_soft.h"

namespace mrc::alloc {
namespace {

ibv_context* open_two_shards() {
  ::setenv("MRC_SHARDS", "2", 1);
  return mrc_soft_open_device_by_name(nullptr);
}

// A context observes both engines, and neither when it was not made. A plane that goes down tells all that are left.
TEST(Shards, open__no_failed_allocation_leaves_an_observer) {
  ibv_context* const first = open_two_shards();
  ASSERT_NE(first, nullptr);
  bool opened = false;
  uint64_t failures = 0;
  for (uint64_t nth = 0; !opened; ++nth) {
    ibv_context* const context = open_with_failure(nth);
    failures += failed_allocations();
    opened = context != nullptr;
    EXPECT_TRUE(opened || errno == ENOMEM) << nth;
    for (const int up : {0, 1}) EXPECT_EQ(mrc_soft_set_port_admin(first, 1, up), 0) << "allocation " << nth;
    if (opened) {
      EXPECT_EQ(mrc_soft_close_device(context), 0);
    }
  }
  set_failures(0, 0);
  EXPECT_GE(failures, 4u);
  EXPECT_EQ(mrc_soft_close_device(first), 0);
}

// Whichever ring the memory is missing for: all have the old size then.
TEST(Shards, resize__no_failed_allocation_changes_a_ring) {
  ibv_context* const verbs = open_two_shards();
  ASSERT_NE(verbs, nullptr);
  mrc_context* const context = mrc_create_context(verbs, nullptr);
  ASSERT_NE(context, nullptr);
  bool resized = false;
  uint64_t failures = 0;
  for (uint64_t nth = 0; !resized; ++nth) {
    mrc_cq* const cq = mrc_create_cq(context, 4, nullptr, nullptr, 0);
    ASSERT_NE(cq, nullptr);
    cq->prepare(1);
    set_failures(1, nth);
    errno = 0;
    {
      const Armed on;
      resized = mrc_soft_resize_cq(cq, 8) == 0;
    }
    failures += failed_allocations();
    EXPECT_TRUE(resized || errno == ENOMEM);
    for (uint32_t shard = 0; shard < 2; ++shard) {
      int room = 0;
      while (cq->push(shard, ibv_wc{}, nullptr, 0, false)) ++room;
      EXPECT_EQ(room, resized ? 8 : 4) << "allocation " << nth << ", shard " << shard;
    }
    EXPECT_EQ(mrc_destroy_cq(cq), 0);
  }
  set_failures(0, 0);
  EXPECT_GE(failures, 2u);
  EXPECT_EQ(mrc_destroy_context(context), 0);
  EXPECT_EQ(mrc_soft_close_device(verbs), 0);
}

}  // namespace
}  // namespace mrc::alloc
