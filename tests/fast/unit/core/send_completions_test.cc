// Completions of sends, and the slots that they free (spec/clients.md rule 12).
#include "core/send_completions.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

Wqe request(uint64_t id, bool signaled) {
  Wqe w{};
  w.wr_id = id;
  w.length = 100;
  w.signaled = signaled;
  return w;
}

TEST(SendCompletions, unsignaled_ones_are_freed_by_the_next) {
  SendCompletions c;
  EXPECT_FALSE(c.on_finished(request(1, false), WcStatus::kSuccess, Qpn(5)));
  EXPECT_FALSE(c.on_finished(request(2, false), WcStatus::kSuccess, Qpn(5)));
  const auto third = c.on_finished(request(3, true), WcStatus::kSuccess, Qpn(5));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->wr_id, 3u);
  EXPECT_EQ(third->slots, 3u);
  EXPECT_EQ(third->qpn, Qpn(5));
  EXPECT_EQ(third->byte_len, 100u);
  EXPECT_EQ(c.on_finished(request(4, true), WcStatus::kSuccess, Qpn(5))->slots, 1u);
}

TEST(SendCompletions, a_failure_is_always_reported) {
  SendCompletions c;
  EXPECT_FALSE(c.on_finished(request(1, false), WcStatus::kSuccess, Qpn(5)));
  const auto failed = c.on_finished(request(2, false), WcStatus::kFlushed, Qpn(5));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, WcStatus::kFlushed);
  EXPECT_EQ(failed->slots, 2u);
}

TEST(SendCompletions, a_reset_forgets_what_was_not_reported) {
  SendCompletions c;
  EXPECT_FALSE(c.on_finished(request(1, false), WcStatus::kSuccess, Qpn(5)));
  c.on_undelivered();
  EXPECT_TRUE(c.undelivered());
  c.reset();
  EXPECT_FALSE(c.undelivered());
  EXPECT_EQ(c.on_finished(request(2, true), WcStatus::kSuccess, Qpn(5))->slots, 1u);
}

TEST(SendCompletions, after_a_lost_one_the_qp_has_ended) {
  SendCompletions c;
  c.check(false);
  c.on_undelivered();
  c.check(true);
  if (kCheckInvariants) {
    EXPECT_DEATH(c.check(false), "ended");
  }
}

}  // namespace
}  // namespace mrc::core
