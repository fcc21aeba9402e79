// Objects of the API that take a descriptor, where none is left. [API-CTX-*]
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

// Runs `f` on a thread with a full table of descriptors of its own. Other threads can still open some: UBSan needs two
// for a moment where one of them, as the helper, calls a type that it has not seen before.
template <typename F>
void without_descriptors(const F& f) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{std::min<rlim_t>(before.rlim_cur, 4096), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::thread([&f] {
    ASSERT_EQ(unshare(CLONE_FILES), 0);
    int last = 0;
    while (last >= 0) last = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    ASSERT_EQ(errno, EMFILE);
    f();
  }).join();
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

class DescriptorsTest : public ApiTest {};

TEST_F(DescriptorsTest, without_one_there_is_neither_channel_nor_context) {
  const auto make = [this](bool made) {
    mrc_comp_channel* channel = nullptr;
    errno = 0;
    EXPECT_EQ(mrc_create_comp_channel(context, &channel) == 0, made);
    EXPECT_EQ(errno, made ? 0 : EMFILE);
    mrc_context* const other = mrc_create_context(verbs, nullptr);
    EXPECT_EQ(other != nullptr, made);
    EXPECT_EQ(errno, made ? 0 : EMFILE);
    if (other != nullptr) {
      EXPECT_EQ(mrc_destroy_context(other), 0);
    }
    if (channel != nullptr) {
      EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
    }
  };
  make(true);  // UBSan sees the types that this test uses
  without_descriptors([&make] { make(false); });
  make(true);
}

}  // namespace
}  // namespace mrc::api
