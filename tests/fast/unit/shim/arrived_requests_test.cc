// The stages of a peer's requests, and the numbers that confirm them.
#include "mailbox/arrived_requests.h"

#include <gtest/gtest.h>

#include "mailbox/request_sequence.h"

namespace mrc::shim {
namespace {

ArrivedRequest request(Note note, uint32_t number) {
  ArrivedRequest r;
  r.note = note;
  r.number = number;
  return r;
}

TEST(ArrivedRequests, are_matched_ahead_and_leave_in_order) {
  ArrivedRequests requests(4);
  for (uint32_t i = 1; i <= 3; ++i) ASSERT_TRUE(requests.push(request(Note::kReady, i)));
  EXPECT_FALSE(requests.has_matched());
  requests.set_matched();
  requests.set_matched();
  EXPECT_EQ(requests.unmatched().number, 3u);
  requests.finish(2);  // its data has overtaken that of the first
  EXPECT_FALSE(requests.matched().done);
  requests.finish(1);
  EXPECT_TRUE(requests.matched().done);
  EXPECT_EQ(requests.pop().number, 1u);
  EXPECT_TRUE(requests.matched().done);
  EXPECT_EQ(requests.pop().number, 2u);
  EXPECT_FALSE(requests.has_matched());
  EXPECT_TRUE(requests.has_unmatched());
}

TEST(ArrivedRequests, only_an_announced_send_that_was_matched_is_finished_by_its_number) {
  ArrivedRequests requests(4);
  requests.push(request(Note::kRead, 1));
  requests.push(request(Note::kReady, 2));
  requests.set_matched();
  requests.finish(1);
  requests.finish(2);
  EXPECT_FALSE(requests.pop().done);
  EXPECT_FALSE(requests.unmatched().done);
}

TEST(ArrivedRequests, are_as_many_as_the_power_of_two_above) {
  ArrivedRequests requests(3);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(requests.push(request(Note::kSend, i)));
  EXPECT_FALSE(requests.push(request(Note::kSend, 4)));
  requests.set_matched();
  requests.pop();
  EXPECT_TRUE(requests.push(request(Note::kSend, 4)));
  requests.clear();
  EXPECT_FALSE(requests.has_unmatched());
}

// [VRB-RSP-11]
TEST(ArrivedRequests, an_answer_is_due_for_reads_and_atomics_alone) {
  ArrivedRequests requests(8);
  requests.push(request(Note::kNone, 0));
  requests.push(request(Note::kSend, 1));
  EXPECT_EQ(requests.first_if_answer_is_due(), nullptr);
  requests.push(request(Note::kAtomic, 2));
  ASSERT_NE(requests.first_if_answer_is_due(), nullptr);
  EXPECT_EQ(requests.first_if_answer_is_due()->number, 1u);
  requests.unmatched().done = true;
  requests.set_matched();
  requests.unmatched().done = true;
  EXPECT_EQ(requests.first_if_answer_is_due()->number, 2u);
}

// [VRB-RSP-6]
TEST(RequestSequence, one_confirmation_serves_for_all_that_was_carried_out) {
  RequestSequence sequence;
  EXPECT_EQ(sequence.expected(), 1u);
  for (uint32_t i = 1; i <= 3; ++i) sequence.arrive();
  EXPECT_FALSE(sequence.ack_due());
  sequence.complete(1);
  sequence.complete(2);
  EXPECT_TRUE(sequence.ack_due());
  sequence.acknowledge(sequence.completed());
  EXPECT_FALSE(sequence.ack_due());
  sequence.acknowledge(3);  // by the answer to a READ, which completes it
  sequence.complete(3);
  EXPECT_FALSE(sequence.ack_due());
}

TEST(RequestSequence, goes_on_behind_its_largest_number) {
  RequestSequence sequence;
  for (uint32_t i = 1; i <= kNumberMask; ++i) sequence.arrive();
  EXPECT_EQ(sequence.expected(), 0u);
  sequence.arrive();
  EXPECT_EQ(sequence.expected(), 1u);
}

}  // namespace
}  // namespace mrc::shim
