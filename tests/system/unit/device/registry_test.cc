// Devices shared by the contexts of a process, and what fork() makes of them.
#include "device/registry.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "device_fixture.h"

namespace mrc::device {
namespace {

TEST(Registry, open__shares_and_knows_its_names) {
  const auto a = open_device(nullptr);
  ASSERT_TRUE(a) << a.error().text;
  const auto b = open_device("mrc0");
  ASSERT_TRUE(b);
  EXPECT_EQ(*b, *a);
  const auto none = open_device("mrc7");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ENODEV);
  EXPECT_EQ(none.error().text, "no device 'mrc7' in the configuration");
}

TEST(Registry, fork__the_child_starts_anew_and_leaves_the_parent_alone) {
  auto opened = open_device(nullptr);
  ASSERT_TRUE(opened) << opened.error().text;
  std::shared_ptr<Shards> shards = *std::move(opened);
  Device* const parent = &shards->first();
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    // No gtest in here: the exit status is the result.
    if (parent->progress() != 0) ::_exit(2);
    parent->count_armed(1);
    parent->stop();
// TSan cannot start a thread after a fork, and ASan's own locks may be held by the parent's helper at the fork.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    auto reopened = open_device(nullptr);
    if (!reopened) ::_exit(3);
    std::shared_ptr<Shards> own = *std::move(reopened);
    if (own == shards || own->first().slot() == parent->slot()) ::_exit(4);
    own->first().progress();
    own.reset();
    shards.reset();
    ::exit(0);  // runs the exit handlers
#else
    ::_exit(0);
#endif
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  End from(parent, 1), to(parent, 1);
  from.connect(to, parent->config().gids[3]);
  to.connect(from, parent->config().gids[3]);
  to.post_recv();
  from.write_imm(to, 1000);
  while (from.completions == 0 || to.completions == 0) parent->progress();
}

}  // namespace
}  // namespace mrc::device
