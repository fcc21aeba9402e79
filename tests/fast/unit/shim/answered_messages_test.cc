// AnsweredMessages: when the peer has the answers to its messages. [MRC-MBX-2]
#include "mailbox/answered_messages.h"

#include <gtest/gtest.h>

namespace mrc::shim {
namespace {

TEST(AnsweredMessages, count_when_the_answers_are_complete) {
  AnsweredMessages messages;
  messages.on_message();
  messages.on_message();
  EXPECT_FALSE(messages.on_completed(10));  // nothing was served
  messages.on_served(7);
  EXPECT_FALSE(messages.on_completed(6));
  EXPECT_EQ(messages.count(), 0u);
  EXPECT_TRUE(messages.on_completed(7));
  EXPECT_EQ(messages.count(), 2u);
  EXPECT_FALSE(messages.on_completed(8));
}

TEST(AnsweredMessages, later_requests_of_its_own_do_not_put_off_the_count) {
  AnsweredMessages messages;
  messages.on_message();
  messages.on_served(3);
  messages.on_served(9);
  EXPECT_TRUE(messages.on_completed(3));
}

TEST(AnsweredMessages, one_that_came_since_does_not_count) {
  AnsweredMessages messages;
  messages.on_message();
  messages.on_served(0);
  messages.on_message();
  EXPECT_TRUE(messages.on_completed(0));
  EXPECT_EQ(messages.count(), 1u);
}

TEST(AnsweredMessages, begin_at_0_after_a_reset) {
  AnsweredMessages messages;
  messages.on_message();
  messages.on_served(5);
  EXPECT_TRUE(messages.on_completed(5));
  messages.reset();
  EXPECT_EQ(messages.count(), 0u);
  messages.on_message();
  messages.on_served(1);
  EXPECT_TRUE(messages.on_completed(1));
  EXPECT_EQ(messages.count(), 1u);
}

}  // namespace
}  // namespace mrc::shim
