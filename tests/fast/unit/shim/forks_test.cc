// What a child of fork has from its parent, and what it has made itself. [VRB-FRK-1]
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress/forks.h"

namespace mrc::shim {
namespace {

TEST(Forks, objects_of_the_parent_are_told_from_those_of_the_child) {
  const ForkGeneration before;
  ASSERT_FALSE(before.inherited());
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {  // no gtest in here: the exit status is the result
    const ForkGeneration after;
    ::_exit(before.inherited() && !after.inherited() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(before.inherited());
}

}  // namespace
}  // namespace mrc::shim
