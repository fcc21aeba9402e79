// Commands on QPs: the state machine, flush, reset, and how many QPs there may be. [MRC-QP-1..3]
#include "core/endpoint.h"

#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class EndpointTest : public LoneEndpoint {};

// [MRC-QP-1]
TEST_F(EndpointTest, only_the_transitions_of_the_state_machine) {
  start();
  const QpState all[] = {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts, QpState::kError};
  const auto legal = [](QpState from, QpState to) {
    if (to == QpState::kReset || to == QpState::kError) return true;
    if (from == QpState::kReset) return to == QpState::kInit;
    if (from == QpState::kInit) return to == QpState::kInit || to == QpState::kRtr;
    return (from == QpState::kRtr || from == QpState::kRts) && to == QpState::kRts;
  };
  uint32_t qpn = 0x200;
  for (QpState from : all)
    for (QpState to : all) {
      Qp* qp = endpoint_->create_qp({this, Qpn(qpn++), 1, {4, 4, 1, 0}});
      ASSERT_NE(qp, nullptr);
      for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts})
        if (from != QpState::kReset && from != QpState::kError && s <= from) endpoint_->modify_qp(now_, qp, s, attr_);
      if (from == QpState::kError) endpoint_->modify_qp(now_, qp, from, attr_);
      ASSERT_EQ(endpoint_->qp_state(qp), from);
      EXPECT_EQ(endpoint_->modify_qp(now_, qp, to, attr_), legal(from, to));
      EXPECT_EQ(endpoint_->qp_state(qp), legal(from, to) ? to : from);
    }
}

// [MRC-QP-2]
TEST_F(EndpointTest, error_flushes_everything_in_posting_order) {
  start();
  for (uint64_t i = 0; i < 4; ++i) post(i, 8, SendOp::kWrite, i % 2 == 0);
  for (uint64_t i = 10; i < 13; ++i) endpoint_->post_recv(now_, qp_, i);
  drain();
  sent_.clear();
  ASSERT_TRUE(endpoint_->modify_qp(now_, qp_, QpState::kError, attr_));
  ASSERT_EQ(sends_.size(), 4u);
  ASSERT_EQ(receives_.size(), 3u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(sends_[i].wr_id, i);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(receives_[i].wr_id, 10 + i);
  for (const Completion& c : sends_) EXPECT_EQ(c.status, WcStatus::kFlushed);
  pass(Duration::seconds(1));
  EXPECT_TRUE(requests().empty());
  EXPECT_EQ(post(9, 8), PostResult::kOk);  // flushed at once
  EXPECT_EQ(sends_.back().wr_id, 9u);
}

// [MRC-QP-3]
TEST_F(EndpointTest, reset_forgets_work_and_starts_from_the_new_psns) {
  start();
  for (uint64_t i = 0; i < 3; ++i) post(i, 8);
  drain();
  ASSERT_TRUE(endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_));
  EXPECT_TRUE(sends_.empty());
  EXPECT_FALSE(endpoint_->qp_busy(qp_));
  EXPECT_EQ(post(5, 8), PostResult::kBadState);
  attr_.sq_psn = Psn(77);
  sent_.clear();
  for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts})
    ASSERT_TRUE(endpoint_->modify_qp(now_, qp_, s, attr_));
  pass(Duration::seconds(1));
  EXPECT_TRUE(requests().empty());
  post(6, 8);
  drain();
  ASSERT_EQ(requests().size(), 1u);
  EXPECT_EQ(requests()[0]->p.bth.psn, Psn(77));
  EXPECT_EQ(requests()[0]->p.meth.msn, 0);
  EXPECT_EQ(endpoint_->qp_status(qp_).qpn, kOwnQpn);
}

TEST_F(EndpointTest, numbers_are_taken_once_and_only_up_to_the_limit) {
  config_.max_qps = 2;
  start();
  EXPECT_EQ(endpoint_->create_qp({this, kOwnQpn, 1, {1, 1, 1, 0}}), nullptr);
  EXPECT_NE(endpoint_->create_qp({this, Qpn(0xFFFE), 1, {1, 1, 1, 0}}), nullptr);
  EXPECT_EQ(endpoint_->create_qp({this, Qpn(0x100), 1, {1, 1, 1, 0}}), nullptr);
}

TEST_F(EndpointTest, peers_are_interned_by_description) {
  start();
  EXPECT_EQ(endpoint_->intern_peer(peer_), peer_id_);
  PeerDescription other = peer_;
  other.planes[1].port = 4971;
  EXPECT_NE(endpoint_->intern_peer(other), peer_id_);
}

}  // namespace
}  // namespace mrc::core
