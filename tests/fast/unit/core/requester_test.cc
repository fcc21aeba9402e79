// The packets of the requester: order, sizes, headers, windows. Answers are in requester_ack_test.cc, missing
// ones in loss_recovery_test.cc.
#include "core/requester.h"

#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class RequesterTest : public LoneEndpoint {};

// [MRC-REQ-1] [MRC-RETH-1] [MRC-RETH-2] [MRC-METH-1] [MRC-BTH-7] [MRC-BTH-8] [MRC-TSETH-1] [MRC-PSN-1]
TEST_F(RequesterTest, every_packet_can_be_placed_alone) {
  attr_.pkey = 0x7FFF;
  start();
  ASSERT_EQ(post(1, 1000), PostResult::kOk);
  drain();
  const auto out = requests();
  ASSERT_EQ(out.size(), 4u);
  const wire::Opcode ops[] = {wire::Opcode::kWriteFirst, wire::Opcode::kWriteMiddle, wire::Opcode::kWriteMiddle,
                              wire::Opcode::kWriteLast};
  const uint32_t psns[] = {0xFFFFFE, 0xFFFFFF, 0, 1};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(out[i]->op(), ops[i]);
    EXPECT_EQ(out[i]->p.bth.psn, Psn(psns[i]));
    EXPECT_EQ(out[i]->p.bth.dqp, kPeerQpn);
    EXPECT_EQ(out[i]->p.bth.pkey, 0x7FFF);
    EXPECT_TRUE(out[i]->p.bth.ts);
    EXPECT_EQ(out[i]->p.req.reth.va, 0x5000 + 256 * i);
    EXPECT_EQ(out[i]->p.req.reth.rkey, Key(77));
    EXPECT_EQ(out[i]->p.req.reth.dmalen, 1000u);
    EXPECT_EQ(out[i]->p.meth.msn, 0);
    EXPECT_EQ(out[i]->p.payload_len, i < 3 ? 256u : 232u);
  }
}

// [MRC-TSETH-1] [MRC-TSETH-3] [MRC-CHOICE-Q13]
TEST_F(RequesterTest, timestamps_are_of_our_own_tick_or_absent) {
  start();
  post(1, 8);
  drain();
  EXPECT_EQ(requests()[0]->p.tseth.tx_timestamp, wire::timestamp_of(now_));
  EXPECT_FALSE(requests()[0]->p.tseth.tsr);
  EXPECT_EQ(requests()[0]->p.tseth.ftype, 1);
  config_.timestamps = false;
  sent_.clear();
  start();
  post(1, 8);
  drain();
  EXPECT_FALSE(requests()[0]->p.bth.ts);
}

// [MRC-REQ-3]: one EV and one size per burst; the shorter packet ends it.
TEST_F(RequesterTest, a_shorter_packet_ends_the_burst) {
  start();
  post(1, 300);
  post(2, 10);
  post(3, 256);
  drain();
  const auto out = requests();
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0]->burst, out[1]->burst);
  EXPECT_NE(out[1]->burst, out[2]->burst);
  EXPECT_NE(out[2]->burst, out[3]->burst);  // a longer one begins the next
  EXPECT_EQ(out[0]->ev, out[1]->ev);
  EXPECT_EQ(out[0]->flow.src_port, config_.evs[out[0]->ev].value);
}

TEST_F(RequesterTest, bursts_end_at_their_segments_and_bytes) {
  config_.max_segments = 3;
  start();
  post(1, 256 * 7);
  drain();
  EXPECT_EQ(bursts_, 3u);
  sent_.clear();
  bursts_ = 0;
  config_.max_segments = 64;
  config_.max_burst_bytes = 9000;
  start();
  post(1, 256 * 64);
  drain();
  const uint32_t size = wire::packet_bytes(wire::Opcode::kWriteMiddle, true, 256);
  const uint32_t per_burst = 9000 / size;
  EXPECT_EQ(bursts_, (64 + per_burst - 1) / per_burst);
}

// [MRC-REQ-2] [MRC-CHOICE-Q6]: one short of the end; [MRC-REQ-4]: the last one asks.
TEST_F(RequesterTest, stops_one_short_of_the_window_and_asks) {
  attr_.mpr = 1;
  start();
  post(1, 256 * 200);
  drain();
  ASSERT_EQ(requests().size(), 127u);
  EXPECT_TRUE(requests().back()->p.bth.ack_req);
  EXPECT_FALSE(requests().front()->p.bth.ack_req);
  arrive(sack(9, 9));  // ten have arrived: ten more
  drain();
  EXPECT_EQ(requests().size(), 137u);
  EXPECT_TRUE(requests().back()->p.bth.ack_req);
}

// [MRC-NSCC-11] [MRC-NSCC-CHOICE-8]: window + nothing more, and one packet always.
TEST_F(RequesterTest, stays_inside_the_congestion_window) {
  config_.congestion.set("max_cwnd", 20000);
  start();
  post(1, 256 * 200);
  drain();
  const auto nominal = wire::nominal_size(wire::packet_bytes(wire::Opcode::kWriteMiddle, true, 256));
  EXPECT_EQ(requests().size(), 20000 / nominal);
  EXPECT_LE(endpoint_->qp_status(qp_).inflight, 20000);
  EXPECT_TRUE(requests().back()->p.bth.ack_req);
}

// [MRC-NSCC-CHOICE-10]: one window over all planes, from the line rate of all planes together.
TEST_F(RequesterTest, the_window_is_that_of_all_planes_together) {
  config_.congestion.line_rate_bps = 200e9;
  config_.congestion.base_rtt = Duration::microseconds(8);
  for (bool second_plane : {true, false}) {
    if (!second_plane) peer_.planes.resize(1);
    start();
    EXPECT_EQ(endpoint_->qp_status(qp_).cwnd, 300000) << second_plane;
  }
}

TEST_F(RequesterTest, without_congestion_control_only_the_psn_window_counts) {
  config_.congestion.set("max_cwnd", 20000);
  attr_.congestion = congestion_of("none");
  attr_.mpr = 2;
  start();
  post(1, 256 * 400);
  drain();
  EXPECT_EQ(requests().size(), 255u);
}

// [MRC-WIMM-3] [MRC-METH-2] [MRC-IMM-1] [MRC-CHOICE-Q10]
TEST_F(RequesterTest, holds_the_write_imm_that_is_too_many) {
  attr_.max_wimm = 2;
  start();
  for (uint64_t i = 0; i < 4; ++i) ASSERT_EQ(post(i, 8, SendOp::kWriteImm), PostResult::kOk);
  drain();
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_EQ(requests()[0]->p.meth.rqmsn, 0);
  EXPECT_EQ(requests()[1]->p.meth.rqmsn, 1);
  arrive(ack(0));
  drain();
  ASSERT_EQ(requests().size(), 3u);
  EXPECT_EQ(requests()[2]->p.meth.rqmsn, 2);
  EXPECT_EQ(requests()[2]->op(), wire::Opcode::kWriteOnlyImm);
}

// [MRC-REQ-8]
TEST_F(RequesterTest, a_bad_local_key_waits_for_its_turn) {
  start();
  post(1, 8);
  post(2, 8, SendOp::kWrite, true, nullptr, Key(key_.value() + 1));
  post(3, 8);
  drain();
  EXPECT_EQ(requests().size(), 1u);
  EXPECT_EQ(state(), QpState::kRts);
  EXPECT_TRUE(sends_.empty());
  arrive(ack(0));
  drain();
  ASSERT_EQ(sends_.size(), 3u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kLocalProtection);
  EXPECT_EQ(sends_[2].status, WcStatus::kFlushed);
  EXPECT_EQ(state(), QpState::kError);
}

// [MRC-REQ-9]
TEST_F(RequesterTest, a_fence_holds_up_nothing) {
  start();
  post(1, 8);
  fence_ = true;
  post(2, 8);
  drain();
  EXPECT_EQ(requests().size(), 2u);
}

// [MRC-REQ-10] [MRC-DSCP-1] [MRC-CHOICE-Q28]
TEST_F(RequesterTest, code_points_of_data) {
  config_.dscp = {1, 5, 9, 13, 17, 41};
  start();
  post(1, 8);
  drain();
  EXPECT_EQ(requests().back()->flow.dscp(), 1);
  EXPECT_EQ(requests().back()->flow.ecn(), wire::Ecn::kEct0);
  attr_.traffic_class = 30 << 2;
  start();
  post(1, 8);
  drain();
  EXPECT_EQ(requests().back()->flow.dscp(), 30);
  config_.trimming = true;
  start();
  post(1, 8);
  drain();
  EXPECT_EQ(requests().back()->flow.dscp(), 5);
  arrive(nack(0, wire::NackReason::kTrimmed));
  drain();
  EXPECT_TRUE(requests().back()->p.bth.rtx);
  EXPECT_EQ(requests().back()->flow.dscp(), 9);
}

// [MRC-REQ-2]: lost packets go before new ones, on an EV chosen afresh; [MRC-BTH-4]: rtx is theirs alone.
TEST_F(RequesterTest, lost_packets_go_first) {
  attr_.mpr = 1;
  start();
  post(1, 256 * 200);
  drain();
  sent_.clear();
  arrive(nack(5, wire::NackReason::kNoPktBuffer));
  arrive(sack(2, 2));
  drain();
  ASSERT_EQ(requests().size(), 4u);
  EXPECT_EQ(requests()[0]->p.bth.psn, attr_.sq_psn + 5);
  EXPECT_TRUE(requests()[0]->p.bth.rtx);
  EXPECT_EQ(requests()[1]->p.bth.psn, attr_.sq_psn + 127);
  EXPECT_FALSE(requests()[1]->p.bth.rtx);
  EXPECT_NE(requests()[0]->burst, requests()[1]->burst);
}

// [MRC-NSCC-32]: whatever the windows of congestion control are, the receiver's queues hold all that is in flight.
TEST_F(RequesterTest, qps_share_the_room_of_the_peers_receive_queues) {
  constexpr uint32_t kMtu = 1024, kMessage = 1 << 20;
  attr_.path_mtu = kMtu;
  for (const uint32_t qps : {1u, 2u, 3u, 4u, 5u, 64u}) {
    config_.receive_room = 65 * kMtu - 1;
    start();
    std::vector<Qp*> all = {qp_};
    for (uint32_t i = 1; i < qps; ++i) all.push_back(make_qp(Qpn(0x101 + i)));
    for (Qp* qp : all) ASSERT_EQ(post(1, 8, SendOp::kWrite, true, qp), PostResult::kOk);
    drain();  // all of them have begun
    sent_.clear();
    for (Qp* qp : all) ASSERT_EQ(post(1, kMessage, SendOp::kWrite, true, qp), PostResult::kOk);
    drain();
    EXPECT_EQ(requests().size(), qps * (std::max(64 / std::bit_ceil(qps), 4u) - 1)) << qps;
    sent_.clear();
  }
}

// [MRC-NSCC-31]
class SharedWindowTest : public RequesterTest, public testing::WithParamInterface<const char*> {
 protected:
  SharedWindowTest() {
    config_.congestion.algorithm = find_congestion_algorithm(GetParam());
    config_.congestion.measure_rate = true;
  }
  int64_t window(Qp* qp) const { return endpoint_->qp_status(qp).cwnd; }
  // Begins to send with a window that many times smaller than the whole one.
  Qp* begin(int64_t whole, int64_t share) {
    Qp* const qp = make_qp(Qpn(0x102 + made_++));
    EXPECT_EQ(window(qp), whole);
    send(qp);
    EXPECT_EQ(window(qp), whole / share);
    return qp;
  }
  void send(Qp* qp) {
    EXPECT_EQ(post(1, 8, SendOp::kWrite, true, qp), PostResult::kOk);
    drain();
  }

 private:
  uint32_t made_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Algorithms, SharedWindowTest, testing::Values("nscc", "swift"),
                         [](const auto& i) { return std::string(i.param); });

// Each alone may fill the path; together they would fill the receiver's queues many times over.
TEST_P(SharedWindowTest, of_qps_that_begin_together_is_shared_where_the_rate_is_measured) {
  constexpr uint32_t kQps = 8, kMessage = 1 << 20;
  attr_.path_mtu = 1024;
  size_t alone = 0;
  for (const bool measured : {false, true}) {
    config_.congestion.measure_rate = measured;
    start();
    std::vector<Qp*> qps = {qp_};
    for (uint32_t i = 1; i < kQps; ++i) qps.push_back(make_qp(Qpn(0x101 + i)));
    ASSERT_EQ(post(1, kMessage), PostResult::kOk);
    drain();
    alone = requests().size();
    ASSERT_GT(alone, 100u);
    ASSERT_LT(alone, kMessage / 1024);
    for (uint32_t i = 1; i < kQps; ++i) {
      ASSERT_EQ(post(1, kMessage, SendOp::kWrite, true, qps[i]), PostResult::kOk);
      drain();
    }
    if (measured) {
      EXPECT_LT(requests().size(), alone * 5 / 2 + kQps);  // 1 + 1/2 + 2/4 + 4/8
      EXPECT_GT(requests().size(), alone * 2);
    } else {
      EXPECT_EQ(requests().size(), alone * kQps);
    }
    sent_.clear();
  }
}

// Of those that have something under way.
TEST_P(SharedWindowTest, is_that_of_one_qp_that_begins_alone) {
  start();
  const int64_t whole = window(qp_);
  send(qp_);
  EXPECT_EQ(window(qp_), whole);
  Qp* const second = begin(whole, 2);
  arrive(sack(0, 0));
  arrive(ack(0));
  endpoint_->destroy_qp(second);
  begin(whole, 1);
}

// The share is a power of two: three have one of four, and so has the fourth, but not the fifth.
TEST_P(SharedWindowTest, changes_by_powers_of_two) {
  start();
  const int64_t whole = window(qp_);
  send(qp_);
  std::vector<Qp*> others;
  for (const int64_t share : {2, 4, 4, 8}) others.push_back(begin(whole, share));
  const auto replace_last = [&](size_t gone, int64_t share) {
    for (; gone > 0; --gone) {
      endpoint_->destroy_qp(others.back());
      others.pop_back();
    }
    others.push_back(begin(whole, share));
  };
  replace_last(1, 8);  // the fifth again
  replace_last(2, 4);  // the fourth
  replace_last(2, 4);  // the third
  replace_last(2, 2);  // the second
  EXPECT_EQ(window(others[0]), whole / 2);
  EXPECT_EQ(window(qp_), whole) << "a window that is in use stays as it is";
}

}  // namespace
}  // namespace mrc::core
