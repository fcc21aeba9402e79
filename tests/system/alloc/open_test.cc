// Opening a device when memory runs out: any allocation of it may fail, errno is ENOMEM, and nothing is left behind.
#include <dirent.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

#include "alloc/open_device.h"
#include "harness/counted_new.h"
#include "mrc_soft.h"

namespace mrc::alloc {
namespace {

int open_descriptors() {
  int n = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++n;
  ::closedir(folder);
  return n;
}

// The device is started and stopped by each attempt, so that any part of it may be missing when it is taken down.
// Every fifth allocation, because each attempt takes milliseconds.
TEST(Open, first__no_failed_allocation_leaves_anything_behind) {
  ::setenv("MRC_LINGER_MS", "0", 1);
  ASSERT_EQ(mrc_soft_close_device(mrc_soft_open_device_by_name(nullptr)), 0);
  const int descriptors = open_descriptors();
  bool opened = false;
  uint64_t failures = 0;
  for (uint64_t nth = 0; !opened; nth += 5) {
    set_failures(1, nth);
    errno = 0;
    {
      Armed on;
      ibv_context* const context = mrc_soft_open_device_by_name(nullptr);
      opened = context != nullptr && failed_allocations() == 0;
      if (context != nullptr) {
        EXPECT_EQ(mrc_soft_close_device(context), 0);
      } else {
        EXPECT_EQ(errno, ENOMEM) << nth;
      }
    }
    failures += failed_allocations();
    ASSERT_EQ(open_descriptors(), descriptors) << "allocation " << nth;
  }
  EXPECT_GE(failures, 50u);
  set_failures(0, 0);
}

// The exit handler stops a device that was never closed.
TEST(Open, exit__needs_no_memory) {
  const auto leave = [] {
    if (mrc_soft_open_device_by_name(nullptr) == nullptr) std::_Exit(1);
    set_failures(UINT64_MAX, 0);
    const Armed on;
    std::exit(0);
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(0), "");
}

TEST(Open, device__no_failed_allocation_leaves_anything_behind) {
  // Held open, so that only the context is made below; and once before, so that what is made once exists.
  ibv_context* first = mrc_soft_open_device_by_name(nullptr);
  ASSERT_NE(first, nullptr);
  ASSERT_EQ(mrc_soft_close_device(mrc_soft_open_device_by_name(nullptr)), 0);
  const int descriptors = open_descriptors();
  bool opened = false;
  uint64_t failures = 0;
  for (uint64_t nth = 0; !opened; ++nth) {
    ibv_context* const context = open_with_failure(nth);
    failures += failed_allocations();
    opened = context != nullptr;
    if (opened) {
      EXPECT_EQ(failed_allocations(), 0u);
      EXPECT_EQ(mrc_soft_close_device(context), 0);
    } else {
      EXPECT_EQ(errno, ENOMEM) << nth;
    }
    EXPECT_EQ(open_descriptors(), descriptors) << "allocation " << nth;
  }
  EXPECT_GE(failures, 3u);
  set_failures(0, 0);
  EXPECT_EQ(mrc_soft_close_device(first), 0);
}

}  // namespace
}  // namespace mrc::alloc
