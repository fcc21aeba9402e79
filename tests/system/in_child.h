// Runs part of a test in a child process, where expectations count as they do in the test: what it changes in its
// process, as limits, ends with it, and a fork is what some tests are about.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "harness/limits.h"

namespace mrc::harness {

template <typename Body>
void in_child(const Body& body) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(limit_s(60));
    body();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace mrc::harness
