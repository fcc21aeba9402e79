// The slots of MRC's send queue, of which only completions of signalled requests tell.
#include "mailbox/mrc_send_slots.h"

#include <gtest/gtest.h>

namespace mrc::shim {
namespace {

TEST(MrcSendSlots, a_completion_frees_the_slots_of_all_before_it) {
  MrcSendSlots slots(4);
  EXPECT_EQ(slots.room(1), 3u);
  slots.post(false);
  slots.post(false);
  EXPECT_FALSE(slots.awaits_completion());
  slots.post(true);
  EXPECT_TRUE(slots.awaits_completion());
  EXPECT_EQ(slots.room(1), 0u);
  EXPECT_EQ(slots.room(0), 1u);  // the reserved one
  EXPECT_EQ(slots.complete(), 0u);
  EXPECT_EQ(slots.room(1), 3u);
  EXPECT_FALSE(slots.awaits_completion());
}

TEST(MrcSendSlots, requests_behind_the_signalled_one_keep_their_slots) {
  MrcSendSlots slots(8);
  slots.post(true);
  slots.post(false);
  slots.post(false);
  slots.complete();
  EXPECT_EQ(slots.room(0), 6u);
  slots.post(true);
  slots.complete();
  EXPECT_EQ(slots.room(0), 8u);
}

TEST(MrcSendSlots, unsignalled_requests_behind_the_last_signalled_one_are_left_out) {
  MrcSendSlots slots(2);
  slots.post(false);
  EXPECT_EQ(slots.posted_up_to_signalled(), 0u);
  slots.post(true);
  EXPECT_EQ(slots.posted_up_to_signalled(), 2u);
  slots.complete();
  slots.post(false);
  EXPECT_EQ(slots.posted_up_to_signalled(), 2u);
  EXPECT_EQ(slots.released(), 2u);
  slots.reset();
  EXPECT_EQ(slots.posted_up_to_signalled(), 0u);
}

TEST(MrcSendSlots, signalled_requests_are_counted_in_their_order) {
  MrcSendSlots slots(3);
  for (uint64_t i = 0; i < 10; ++i) {  // three times round the ring
    EXPECT_EQ(slots.next_signalled(), i);
    slots.post(true);
    EXPECT_EQ(slots.complete(), i);
  }
  EXPECT_EQ(slots.room(0), 3u);
}

TEST(MrcSendSlots, room_is_none_rather_than_negative) {
  MrcSendSlots slots(2);
  slots.post(true);
  slots.post(true);
  EXPECT_EQ(slots.room(0), 0u);
  EXPECT_EQ(slots.room(1), 0u);
  slots.reset();
  EXPECT_EQ(slots.room(0), 2u);
  EXPECT_EQ(slots.next_signalled(), 0u);
}

}  // namespace
}  // namespace mrc::shim
