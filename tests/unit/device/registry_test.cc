// Devices shared by the contexts of a process, and what fork() makes of them.
#include "device/registry.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "device_fixture.h"

namespace mrc::device {
namespace {

TEST(Registry, open__shares_and_knows_its_names) {
  std::string error;
  int err = 0;
  const auto a = open_device(nullptr, &error, &err);
  ASSERT_NE(a, nullptr) << error;
  EXPECT_EQ(open_device("mrc0", &error, &err), a);
  EXPECT_EQ(open_device("mrc7", &error, &err), nullptr);
  EXPECT_EQ(err, ENODEV);
  EXPECT_EQ(error, "no device 'mrc7' in the configuration");
}

TEST(Registry, fork__the_child_starts_anew_and_leaves_the_parent_alone) {
  std::string error;
  int err = 0;
  auto parent = open_device(nullptr, &error, &err);
  ASSERT_NE(parent, nullptr) << error;
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    // No gtest in here: the exit status is the result.
    if (parent->progress() != 0) ::_exit(2);
    parent->count_armed(1);
    parent->stop();
// TSan cannot start a thread after a fork, and ASan's own locks may be held by the parent's helper at the fork.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    auto own = open_device(nullptr, &error, &err);
    if (own == nullptr) ::_exit(3);
    if (own == parent || own->slot() == parent->slot()) ::_exit(4);
    own->progress();
    own.reset();
    parent.reset();
    ::exit(0);  // runs the exit handlers
#else
    ::_exit(0);
#endif
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  End from(parent.get(), 1), to(parent.get(), 1);
  from.connect(to, parent->config().gids[3]);
  to.connect(from, parent->config().gids[3]);
  to.post_recv();
  from.write_imm(to, 1000);
  while (from.completions == 0 || to.completions == 0) parent->progress();
}

}  // namespace
}  // namespace mrc::device
