#include "send_buffer.h"

#include <gtest/gtest.h>

namespace mrc::mrcd {
namespace {

TEST(SendBuffer, next__is_what_was_added_until_it_is_sent) {
  SendBuffer buffer;
  EXPECT_EQ(buffer.next(), "");
  EXPECT_EQ(buffer.unsent(), 0u);
  buffer.add("one\n");
  EXPECT_EQ(buffer.next(), "one\n");
  buffer.note_sent(2);
  buffer.add("two\n");
  EXPECT_EQ(buffer.unsent(), 6u);
  EXPECT_EQ(buffer.next(), "e\n");
  buffer.note_sent(2);
  EXPECT_EQ(buffer.next(), "two\n");
  buffer.note_sent(4);
  EXPECT_EQ(buffer.next(), "");
  EXPECT_EQ(buffer.unsent(), 0u);
}

TEST(SendBuffer, add__leaves_what_is_being_sent_where_it_is) {
  SendBuffer buffer;
  buffer.add("first");
  const std::string_view sending = buffer.next();
  for (int i = 0; i < 1000; ++i) buffer.add("more and more");
  EXPECT_EQ(buffer.next().data(), sending.data());
  EXPECT_EQ(sending, "first");
}

TEST(SendBuffer, clear_waiting__keeps_what_is_being_sent) {
  SendBuffer buffer;
  buffer.add("first");
  const std::string_view sending = buffer.next();
  buffer.add("second");
  buffer.clear_waiting();
  EXPECT_EQ(buffer.unsent(), 5u);
  EXPECT_EQ(sending, "first");
  buffer.note_sent(5);
  EXPECT_EQ(buffer.next(), "");
}

TEST(SendBuffer, clear__discards_all) {
  SendBuffer buffer;
  buffer.add("first");
  (void)buffer.next();
  buffer.note_sent(1);
  buffer.add("second");
  buffer.clear();
  EXPECT_EQ(buffer.unsent(), 0u);
  EXPECT_EQ(buffer.next(), "");
}

}  // namespace
}  // namespace mrc::mrcd
