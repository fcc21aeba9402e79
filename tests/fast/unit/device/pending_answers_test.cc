#include "device/pending_answers.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace mrc::device {
namespace {

TEST(PendingAnswers, set__answers_one_request_until_it_is_taken) {
  PendingAnswers pending;
  const uint64_t first = pending.add(), second = pending.add();
  EXPECT_NE(first, second);
  EXPECT_TRUE(pending.set(second, EPERM));
  EXPECT_TRUE(pending.is_waiting(first));
  EXPECT_FALSE(pending.is_waiting(second));
  EXPECT_EQ(pending.take(second), EPERM);
  EXPECT_FALSE(pending.set(second, 0)) << "the request has ended";
  EXPECT_FALSE(pending.take(first)) << "it has no answer";
  EXPECT_FALSE(pending.set(first, 0));
}

TEST(PendingAnswers, fail__leaves_answers_that_have_come) {
  PendingAnswers pending;
  const uint64_t answered = pending.add(), waiting = pending.add();
  EXPECT_TRUE(pending.set(answered, 0));
  pending.fail(EIO);
  EXPECT_EQ(pending.take(answered), 0);
  EXPECT_EQ(pending.take(waiting), EIO);
}

}  // namespace
}  // namespace mrc::device
