// mrc_soft_mailbox_answered(): a request that is to be refused waits until the messages to the mailbox before it are
// answered. Time is virtual and passes with each poll. [MRC-MBX-2]
#include <vector>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class MailboxAnswerTest : public ApiTest {
 protected:
  // A message to b's mailbox.
  void message(End* a, End* b) {
    ASSERT_EQ(a->write_to(nullptr, MRC_SOFT_MAILBOX_RKEY, 1, 64, IBV_SEND_SIGNALED, true), 0);
    ASSERT_EQ(b->wait().opcode, MRC_SOFT_WC_MAILBOX);
    ASSERT_EQ(a->wait().status, IBV_WC_SUCCESS);
  }
  // How often a polls until a request of it is refused: as long as it waits.
  static int polls_until_refused(End* a) {
    EXPECT_EQ(a->write_to(nullptr, 0, 2, 64, IBV_SEND_SIGNALED), 0);
    ibv_wc wc{};
    int polls = 0;
    while (mrc_poll_cq(a->cq, 1, &wc) == 0) ++polls;
    EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
    return polls;
  }

  std::vector<uint8_t> box_ = std::vector<uint8_t>(1024);
};

TEST_F(MailboxAnswerTest, a_refusal_waits_for_it_and_for_an_owner_that_does_not_answer_at_its_limit) {
  int polls[2];
  for (const uint32_t answered : {0u, 1u}) {
    End a(context, pd), b(context, pd);
    ASSERT_EQ(mrc_soft_set_mailbox(b.qp, box_.data(), box_.size(), 5), 0);
    connect(&a, &b);
    message(&a, &b);
    mrc_soft_mailbox_answered(b.qp, answered);
    polls[answered] = polls_until_refused(&a);
  }
  EXPECT_GT(polls[0], 100 * polls[1]);
}

TEST_F(MailboxAnswerTest, the_count_begins_at_0_after_a_reset) {
  End a(context, pd), b(context, pd);
  ASSERT_EQ(mrc_soft_set_mailbox(b.qp, box_.data(), box_.size(), 5), 0);
  connect(&a, &b);
  message(&a, &b);
  mrc_soft_mailbox_answered(b.qp, 1);
  const int at_once = polls_until_refused(&a);
  ASSERT_EQ(a.to(IBV_QPS_RESET), 0);
  ASSERT_EQ(b.to(IBV_QPS_RESET), 0);
  connect(&a, &b);
  message(&a, &b);
  EXPECT_GT(polls_until_refused(&a), 100 * at_once);
}

TEST_F(MailboxAnswerTest, no_queue_pair_is_no_error) {
  mrc_soft_mailbox_answered(nullptr, 1);
}

}  // namespace
}  // namespace mrc::api
