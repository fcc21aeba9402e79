// What SACK, NACK and transport ACK do to the requester, near the edges of what was really sent. [MRC-ACK-*]
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class RequesterAckTest : public LoneEndpoint {
 protected:
  void send(int packets) {
    start();
    for (int i = 0; i < packets; ++i) post(static_cast<uint64_t>(i), 8);
    drain();
  }
  void send_again(int32_t psn) {
    arrive(nack(psn, wire::NackReason::kTrimmed));
    drain();
  }
  // The packet that the SACK names had arrived before.
  static wire::Packet again(wire::Packet sack) {
    sack.bth.ack_req = sack.bth.rtx = true;
    return sack;
  }
  uint32_t outstanding() { return endpoint_->qp_status(qp_).outstanding_packets; }
  int64_t inflight() { return endpoint_->qp_status(qp_).inflight; }
};

// [MRC-ACK-1] [MRC-CHOICE-Q29]
TEST_F(RequesterAckTest, sack_frees_packets_and_the_ack_completes_work) {
  send(4);
  arrive(sack(3, 3));
  EXPECT_EQ(outstanding(), 0u);
  EXPECT_TRUE(sends_.empty());
  arrive(ack(1));
  ASSERT_EQ(sends_.size(), 2u);
  arrive(ack(3));
  ASSERT_EQ(sends_.size(), 4u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(sends_[i].wr_id, i);
}

TEST_F(RequesterAckTest, an_ack_says_that_the_packets_have_arrived_too) {
  send(4);
  arrive(ack(2));
  EXPECT_EQ(outstanding(), 1u);
  EXPECT_EQ(sends_.size(), 3u);
}

// [MRC-AETH-1]: every value up to 0x1F is an ACK.
TEST_F(RequesterAckTest, credits_in_the_syndrome_are_taken) {
  send(2);
  arrive(ack(0, 0x00));
  arrive(ack(1, 0x1F));
  EXPECT_EQ(sends_.size(), 2u);
}

// [MRC-SACK-1] [MRC-SACK-3]: only ones are knowledge.
TEST_F(RequesterAckTest, bits_count_and_zeros_say_nothing) {
  send(8);
  arrive(sack(-1, 2, 0b10110));  // 1, 2 and 4
  EXPECT_EQ(outstanding(), 8u);
  arrive(sack(0, 3, 0b100));  // 0 by cack, 3 by its bit; the zeros take nothing back
  EXPECT_EQ(outstanding(), 3u);
}

TEST_F(RequesterAckTest, answers_to_what_was_not_sent_are_stale) {
  send(4);
  arrive(sack(4, 4));
  arrive(ack(4));
  arrive(sack(-2, 0));
  arrive(nack(4, wire::NackReason::kTrimmed));
  arrive(nack(-1, wire::NackReason::kTrimmed));
  arrive(nack(4, wire::NackReason::kUnexpEvent));
  arrive(ack(0, 0x40));  // neither ACK nor NAK
  EXPECT_EQ(counters().drop_stale, 7u);
  EXPECT_EQ(outstanding(), 4u);
  EXPECT_EQ(state(), QpState::kRts);
  arrive(ack(-1));  // "nothing yet" is no news, and not stale
  EXPECT_EQ(counters().drop_stale, 7u);
}

// [MRC-ACK-4] [MRC-AETH-1]
TEST_F(RequesterAckTest, a_nak_ends_its_request_and_flushes_the_rest) {
  const std::pair<uint8_t, WcStatus> verdicts[] = {
      {0x61, WcStatus::kRemoteInvalidRequest}, {0x62, WcStatus::kRemoteAccess}, {0x63, WcStatus::kRemoteOperation}};
  for (auto [syndrome, status] : verdicts) {
    sends_.clear();
    send(4);
    arrive(ack(2, syndrome));
    ASSERT_EQ(sends_.size(), 4u);
    EXPECT_EQ(sends_[1].status, WcStatus::kSuccess);
    EXPECT_EQ(sends_[2].status, status);
    EXPECT_EQ(sends_[3].status, WcStatus::kFlushed);
    EXPECT_EQ(state(), QpState::kError);
  }
}

// [MRC-NACK-2]
TEST_F(RequesterAckTest, after_an_unexpected_event_nothing_is_retried) {
  send(2);
  arrive(nack(0, wire::NackReason::kUnexpEvent));
  ASSERT_EQ(sends_.size(), 2u);
  EXPECT_EQ(sends_[0].status, WcStatus::kRemoteOperation);
  EXPECT_EQ(sends_[1].status, WcStatus::kFlushed);
}

// [MRC-ACK-6]: the writes that cack covers are in the peer's memory, whether or not the transport ACK has come.
TEST_F(RequesterAckTest, requests_delivered_before_an_unexpected_event_succeed) {
  send(4);
  arrive(sack(1, 1));
  EXPECT_TRUE(sends_.empty());
  arrive(nack(2, wire::NackReason::kUnexpEvent));
  ASSERT_EQ(sends_.size(), 4u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(sends_[i].wr_id, i);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[2].status, WcStatus::kRemoteOperation);
  EXPECT_EQ(sends_[3].status, WcStatus::kFlushed);
}

// [MRC-ACK-6]: bits above cack show single packets, and the number in a NACK nothing about those before it.
TEST_F(RequesterAckTest, a_request_delivered_behind_a_missing_packet_does_not_succeed) {
  send(4);
  arrive(sack(0, 3, 0b110));
  arrive(nack(3, wire::NackReason::kUnexpEvent));
  ASSERT_EQ(sends_.size(), 4u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kRemoteOperation);
  EXPECT_EQ(sends_[2].status, WcStatus::kFlushed);
}

// [MRC-ACK-6]: a cack that the NACK contradicts was not the peer's.
TEST_F(RequesterAckTest, a_request_that_the_nack_reports_missing_does_not_succeed) {
  send(4);
  arrive(sack(2, 2));
  arrive(nack(1, wire::NackReason::kUnexpEvent));
  ASSERT_EQ(sends_.size(), 4u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kRemoteOperation);
  EXPECT_EQ(sends_[2].status, WcStatus::kFlushed);
}

// [MRC-ACK-6]: a message of which a part is missing, and an unsignaled request, which has no completion.
TEST_F(RequesterAckTest, only_whole_messages_succeed_before_an_unexpected_event) {
  start();
  post(0, 8, SendOp::kWrite, false);
  post(1, 512);
  drain();
  arrive(sack(1, 1));
  arrive(nack(2, wire::NackReason::kUnexpEvent));
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].wr_id, 1u);
  EXPECT_EQ(sends_[0].status, WcStatus::kRemoteOperation);
  EXPECT_EQ(sends_[0].slots, 2u);
}

// [MRC-ACK-6]: an immediate that has arrived may wait for a receive request, and the last request reports the failure.
TEST_F(RequesterAckTest, immediates_and_the_last_request_need_the_transport_ack) {
  start();
  post(0, 8);
  post(1, 8, SendOp::kWriteImm);
  post(2, 8);
  drain();
  arrive(sack(2, 2));
  arrive(nack(2, wire::NackReason::kUnexpEvent));
  ASSERT_EQ(sends_.size(), 3u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kRemoteOperation);
  EXPECT_EQ(sends_[2].status, WcStatus::kFlushed);
  sends_.clear();
  send(2);
  arrive(sack(1, 1));
  arrive(nack(1, wire::NackReason::kUnexpEvent));
  ASSERT_EQ(sends_.size(), 2u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kRemoteOperation);
}

// [MRC-NACK-1]: sent again at once, whatever the reason, and once only.
TEST_F(RequesterAckTest, a_nacked_packet_is_sent_again_once) {
  for (uint8_t reason : {0x01, 0x02, 0x06, 0x07, 0x0A, 0x0B}) {
    sent_.clear();
    send(3);
    arrive(nack(1, static_cast<wire::NackReason>(reason)));
    arrive(nack(1, static_cast<wire::NackReason>(reason)));
    drain();
    ASSERT_EQ(requests().size(), 4u) << int{reason};
    EXPECT_EQ(requests().back()->p.bth.psn, attr_.sq_psn + 1);
    EXPECT_TRUE(requests().back()->p.bth.rtx);
  }
}

// [MRC-EVS-3]: the EV that is trimmed is passed over; trimming at the last hop is not the path's fault.
TEST_F(RequesterAckTest, only_trims_inside_the_fabric_skip_the_path) {
  send(2);
  arrive(nack(0, wire::NackReason::kTrimmedLastHop));
  EXPECT_EQ(counters().ev_skips, 0u);
  arrive(nack(1, wire::NackReason::kTrimmed));
  EXPECT_EQ(counters().ev_skips, 1u);
}

// [MRC-SACK-4] [MRC-EVS-1]: SKIP_ONCE is the QP's own, ALWAYS_SKIP is for all QPs to that peer.
TEST_F(RequesterAckTest, verdicts_on_the_path) {
  send(1);
  const EvIndex used = requests()[0]->ev;
  wire::Packet p = sack(-1, 0);
  p.sack.seth.m = wire::PathVerdict::kSkipOnce;
  arrive(p);
  EXPECT_EQ(counters().ev_skips, 1u);
  EXPECT_EQ(ev(used).ecn_marks, 1u);
  EXPECT_EQ(ev(used).state, EvState::kGood);
  p.sack.seth.m = wire::PathVerdict::kReserved;
  arrive(p);
  EXPECT_EQ(ev(used).state, EvState::kGood);
  p.sack.seth.m = wire::PathVerdict::kAlwaysSkip;
  arrive(p);
  EXPECT_EQ(ev(used).state, EvState::kAssumedBad);
  EXPECT_FALSE(ev(used).active);
  EXPECT_EQ(counters().ev_assumed_bad, 1u);
  sent_.clear();
  Qp* other = make_qp(Qpn(0x103));
  for (uint64_t i = 0; i < 40; ++i) post(100 + i, 8, SendOp::kWrite, true, other);
  drain();
  for (const SentPacket* s : requests()) EXPECT_NE(s->ev, used);
  pass(config_.ev_probe_interval);
  EXPECT_GE(sent(wire::Opcode::kEndpointRequest).size(), 1u);
}

// [MRC-CHOICE-Q2]: the EV of a packet that we no longer know is found from the SACK, with its halves in either order.
TEST_F(RequesterAckTest, paths_are_found_by_entropy_whatever_the_order_of_its_halves) {
  send(3);
  const auto verdict = [&](int32_t cack, uint32_t entropy) {
    wire::Packet p = sack(cack, 30000);
    p.sack.seth.m = wire::PathVerdict::kAlwaysSkip;
    p.sack.seth.entropy = entropy;
    arrive(p);
  };
  verdict(0, 50003);
  EXPECT_EQ(ev(3_ev).state, EvState::kAssumedBad);
  verdict(1, 50004u << 16);
  EXPECT_EQ(ev(4_ev).state, EvState::kAssumedBad);
  verdict(2, 12345);
  EXPECT_EQ(counters().ev_assumed_bad, 2u);
}

// [MRC-SEC-14]: any old PSN is easy to guess. Such a SACK acknowledges nothing, names no packet of the window and
// answers no probe.
TEST_F(RequesterAckTest, a_sack_about_nothing_that_is_outstanding_moves_neither_paths_nor_the_window) {
  send(40);
  arrive(sack(19, 19));
  const auto window = [&] { return endpoint_->qp_status(qp_).cwnd; };
  const auto before = window();
  const Instant due = endpoint_->next_timeout();
  now_ = now_ + Duration::microseconds(10);
  for (const int32_t named : {-30000, -5, 30000}) {
    for (const wire::PathVerdict m : {wire::PathVerdict::kSkipOnce, wire::PathVerdict::kAlwaysSkip}) {
      for (uint32_t e = 0; e < 8; ++e) {
        wire::Packet p = sack(10, named);
        p.sack.seth.m = m;
        p.sack.seth.entropy = 50000 + e;
        p.sack.seth.mpr = 1;
        p.sack.cc.rcv_cwnd_pen = 127;
        p.sack.cc.rcvd_bytes = 0x123456;
        arrive(p);
        p.sack.seth.pr = true;  // the answer to a probe that was never sent
        arrive(p);
      }
    }
  }
  EXPECT_EQ(window(), before);
  EXPECT_EQ(endpoint_->next_timeout(), due);
  EXPECT_EQ(counters().ev_assumed_bad, 0u);
  EXPECT_EQ(counters().ev_skips, 0u);
  EXPECT_EQ(counters().drop_stale, 96u);
  for (EvIndex e = 0_ev; e.value() < 8; e = EvIndex(e.value() + 1)) EXPECT_EQ(ev(e).ecn_marks, 0u);
  wire::Packet p = sack(19, 25);  // of the window, though nothing new
  p.sack.seth.m = wire::PathVerdict::kSkipOnce;
  arrive(p);
  EXPECT_EQ(counters().ev_skips, 1u);
}

// [MRC-CC-4] [MRC-CHOICE-Q14] [MRC-CHOICE-Q12]: the responder's residence time is no round trip; without a stamp it is
// 0.
TEST_F(RequesterAckTest, residence_time_comes_off_the_round_trip) {
  send(1);
  const Instant sent_at = now_;
  now_ = now_ + Duration::microseconds(100);
  wire::Packet p = sack(0, 0);
  p.sack.cc.tx_timestamp = static_cast<uint16_t>(wire::timestamp_of(sent_at) + 500);  // 64 us
  arrive(p);
  EXPECT_EQ(endpoint_->qp_status(qp_).srtt, Duration::microseconds(36));
  send(1);
  now_ = now_ + Duration::microseconds(100);
  arrive(sack(0, 0));
  EXPECT_EQ(endpoint_->qp_status(qp_).srtt, Duration::microseconds(100));
}

// [MRC-LOSS-6] [MRC-CHOICE-Q9]: which copy was answered must be certain.
TEST_F(RequesterAckTest, a_round_trip_needs_a_packet_sent_once_or_one_sent_twice_and_a_flag) {
  for (int copies : {1, 2, 3}) {
    for (bool flagged : {false, true}) {
      send(1);
      for (int i = 1; i < copies; ++i) {
        now_ = now_ + Duration::microseconds(70);
        arrive(nack(0, wire::NackReason::kTrimmed));
        drain();
      }
      now_ = now_ + Duration::microseconds(100);
      wire::Packet p = sack(0, 0);
      p.bth.rtx = flagged;
      arrive(p);
      const bool certain = copies == 1 ? !flagged : copies == 2 && flagged;
      EXPECT_EQ(endpoint_->qp_status(qp_).srtt, certain ? Duration::microseconds(100) : Duration())
          << copies << (flagged ? " copies, flagged" : " copies");
    }
  }
}

// [MRC-LOSS-6] The responder flags an answer that it held for long, too: the timestamp shows that it is to the first
// copy. And the round trip of a packet sent twice never becomes the base, which could not rise again.
TEST_F(RequesterAckTest, a_round_trip_of_two_copies_is_checked_by_its_timestamp_and_no_base) {
  config_.congestion.base_rtt = Duration::microseconds(50);
  for (bool first : {true, false}) {
    send(1);
    const Instant first_sent = now_;
    now_ = now_ + Duration::microseconds(2000);
    arrive(nack(0, wire::NackReason::kNoResource));
    drain();
    const Instant again = now_;
    now_ = now_ + Duration::microseconds(30);
    wire::Packet p = sack(0, 0);
    p.bth.rtx = true;
    p.sack.cc.tx_timestamp =
        static_cast<uint16_t>(wire::timestamp_of(first ? first_sent + Duration::microseconds(1100) : again) + 50);
    arrive(p);
    const Duration residence = Duration::nanoseconds(50 * wire::kTimestampTickNs);
    EXPECT_EQ(endpoint_->qp_status(qp_).srtt, first ? Duration() : Duration::microseconds(30) - residence);
    EXPECT_EQ(endpoint_->qp_status(qp_).base_rtt, Duration::microseconds(50));
  }
}

// [MRC-LOSS-6] A repeated answer gives no information about a round trip: it would be as long as one likes.
TEST_F(RequesterAckTest, the_same_answer_once_more_is_no_round_trip_of_two_copies) {
  send(2);
  arrive(nack(0, wire::NackReason::kTrimmed));
  drain();
  now_ = now_ + Duration::microseconds(100);
  wire::Packet p = sack(0, 0);
  p.bth.rtx = true;
  arrive(p);
  now_ = now_ + Duration::seconds(1);
  arrive(p);
  EXPECT_EQ(endpoint_->qp_status(qp_).srtt, Duration::microseconds(100));
}

// [MRC-LOSS-6] Once everything was answered the records of packets are gone.
TEST_F(RequesterAckTest, an_answer_from_before_a_pause_is_no_round_trip) {
  send(1);
  now_ = now_ + Duration::microseconds(100);
  arrive(sack(0, 0));
  arrive(ack(0));
  now_ = now_ + Duration::seconds(1);
  post(1, 8);
  drain();
  arrive(sack(0, 0));
  EXPECT_EQ(endpoint_->qp_status(qp_).srtt, Duration::microseconds(100));
  EXPECT_EQ(outstanding(), 1u);
}

// [MRC-SACK-8]
TEST_F(RequesterAckTest, the_peers_window_is_heard_only_when_agreed) {
  for (bool dynamic : {false, true}) {
    attr_.dynamic_mpr = dynamic;
    attr_.mpr = 2;
    attr_.congestion = congestion_of("none");
    sent_.clear();
    start();
    post(1, 256 * 600);
    drain();
    ASSERT_EQ(requests().size(), 255u);
    wire::Packet p = sack(199, 199);
    p.sack.seth.mpr = 1;
    arrive(p);
    drain();
    EXPECT_EQ(requests().size(), dynamic ? 327u : 455u);
  }
}

// [MRC-SACK-9] [MRC-CC-2] [MRC-NSCC-24]
TEST_F(RequesterAckTest, a_receiver_penalty_cuts_the_window_until_restored) {
  send(8);
  const int64_t before = endpoint_->qp_status(qp_).cwnd;
  now_ = now_ + Duration::microseconds(12);
  rcvd_units_ = 2;
  wire::Packet p = sack(3, 3);
  p.sack.cc.rcv_cwnd_pen = 127;
  arrive(p);
  const int64_t cut = endpoint_->qp_status(qp_).cwnd;
  EXPECT_LT(cut, before / 10);
  p = sack(4, 4);
  p.sack.cc.restore_cwnd = true;
  arrive(p);
  EXPECT_GE(endpoint_->qp_status(qp_).cwnd, before * 9 / 10);
}

// [MRC-ACK-5]
TEST_F(RequesterAckTest, a_completion_that_is_lost_ends_the_qp) {
  send(3);
  completions_fit_ = false;
  arrive(ack(0));
  EXPECT_EQ(state(), QpState::kError);
  ASSERT_EQ(sends_.size(), 3u);
  EXPECT_EQ(events_.size(), 1u);
}

TEST_F(RequesterAckTest, unsignalled_slots_come_back_with_the_next_completion) {
  start();
  for (uint64_t i = 0; i < 5; ++i) post(i, 8, SendOp::kWrite, i == 3);
  drain();
  arrive(ack(4));
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].wr_id, 3u);
  EXPECT_EQ(sends_[0].slots, 4u);
}

// A profile with a base RTT of its own keeps it where the device measures.
TEST_F(RequesterAckTest, a_profiles_base_rtt_is_not_measured_away) {
  config_.congestion.measure_rtt = true;
  CongestionConfig profile = config_.congestion;
  profile.measure_rtt = false;
  profile.base_rtt = Duration::microseconds(12);
  attr_.congestion = std::make_shared<CongestionConfig>(profile);
  attr_.path_mtu = 256;
  start();
  for (int i = 0; i < 300; ++i) {
    post(static_cast<uint64_t>(i), 256);
    drain();
    now_ = now_ + Duration::microseconds(500);
    arrive(sack(i, i));
    arrive(ack(i));
  }
  EXPECT_EQ(endpoint_->qp_status(qp_).base_rtt, Duration::microseconds(12));
}

// [MRC-SEC-3]: the peer has found that a packet was forged of which it had acknowledged the message already.
TEST_F(RequesterAckTest, a_nak_of_completed_work_fails_the_qp) {
  for (int32_t psn : {0, 1}) {
    sends_.clear();
    send(3);
    arrive(ack(1));
    ASSERT_EQ(sends_.size(), 2u);
    arrive(ack(psn, wire::kSyndromeRemoteAccess));  // other reasons do not come late
    arrive(ack(-1, wire::kSyndromeRemoteOperation));
    EXPECT_EQ(state(), QpState::kRts);
    arrive(ack(psn, wire::kSyndromeRemoteOperation));
    EXPECT_EQ(state(), QpState::kError);
    ASSERT_EQ(sends_.size(), 3u);
    EXPECT_EQ(sends_[2].status, WcStatus::kRemoteOperation);
  }
  send(1);  // and with no work under way
  arrive(ack(0));
  arrive(ack(0, wire::kSyndromeRemoteOperation));
  EXPECT_EQ(state(), QpState::kError);
}

// [MRC-SEC-3]: no further back than two windows, so that an old NAK is not taken for one.
TEST_F(RequesterAckTest, a_nak_of_completed_work_is_accepted_for_two_windows) {
  attr_.mpr = 1;
  start();
  for (int i = 0; i < 258; ++i) {
    post(static_cast<uint64_t>(i), 8);
    drain();
    arrive(sack(i, i));
    arrive(ack(i));
  }
  arrive(ack(1, wire::kSyndromeRemoteOperation));
  EXPECT_EQ(state(), QpState::kRts);
  EXPECT_EQ(counters().drop_stale, 1u);
  arrive(ack(2, wire::kSyndromeRemoteOperation));
  EXPECT_EQ(state(), QpState::kError);
}

// [MRC-CNT-3] [MRC-SACK-11]
TEST_F(RequesterAckTest, each_packet_that_arrived_again_makes_a_copy_needless) {
  send(4);
  send_again(1);
  send_again(2);
  EXPECT_EQ(counters().retransmits, 2u);
  wire::Packet late = sack(0, 1, 0b1);
  late.bth.rtx = true;
  arrive(late);
  EXPECT_EQ(counters().spurious_retransmits, 0u) << "the copy was the first that arrived";
  arrive(again(sack(3, 1)));
  EXPECT_EQ(counters().spurious_retransmits, 1u);
  arrive(again(sack(3, 3)));
  EXPECT_EQ(counters().spurious_retransmits, 1u) << "sent once: the network has made a copy";
  wire::Packet probe_answer = again(sack(3, 2));
  probe_answer.sack.seth.pr = true;
  arrive(probe_answer);
  EXPECT_EQ(counters().spurious_retransmits, 1u);
  for (int i = 0; i < 3; ++i) arrive(again(sack(3, 2)));
  EXPECT_EQ(counters().spurious_retransmits, 2u) << "no more than were sent again";
}

// [MRC-CNT-3]
TEST_F(RequesterAckTest, a_copy_that_arrives_after_the_end_is_counted_too) {
  send(2);
  send_again(0);
  arrive(sack(1, 1));
  arrive(ack(1));
  EXPECT_EQ(outstanding(), 0u);
  arrive(again(sack(1, 2)));
  EXPECT_EQ(counters().spurious_retransmits, 0u) << "was never sent";
  arrive(again(sack(1, 0)));
  EXPECT_EQ(counters().spurious_retransmits, 1u);
}

// [MRC-CNT-3]: a NIC reports no repeated arrivals, but which copy it answers.
TEST_F(RequesterAckTest, of_a_nic_the_first_answer_tells_whether_a_copy_was_needless) {
  peer_.nic = true;
  send(4);
  for (int32_t psn = 0; psn < 3; ++psn) send_again(psn);
  arrive(again(sack(-1, 0)));
  EXPECT_EQ(counters().spurious_retransmits, 0u);
  arrive(sack(1, 1));
  EXPECT_EQ(counters().spurious_retransmits, 1u);
  arrive(sack(1, 1));
  arrive(sack(1, 0));
  EXPECT_EQ(counters().spurious_retransmits, 1u) << "known already";
  EXPECT_EQ(counters().retransmits, 3u);
}

// [MRC-CNT-4]
TEST_F(RequesterAckTest, nothing_is_in_flight_when_everything_has_arrived) {
  for (const bool sack_lost : {false, true}) {
    rcvd_units_ = 0;
    send(3);
    EXPECT_GT(inflight(), 0);
    const uint32_t each = wire::nominal_size(wire::packet_bytes(wire::Opcode::kWriteOnly, config_.timestamps, 8));
    ASSERT_NE(3 * each % 256, 0u);
    rcvd_units_ = (3 * each + 255) / 256;  // rounded up [MRC-CC-3]
    if (!sack_lost) arrive(sack(2, 2));
    arrive(ack(2));
    EXPECT_EQ(outstanding(), 0u);
    EXPECT_EQ(inflight(), 0) << sack_lost;
  }
}

// [MRC-NACK-1]
TEST_F(RequesterAckTest, a_nack_of_a_packet_that_is_lost_already_counts_once) {
  send(3);
  const int64_t before = endpoint_->qp_status(qp_).inflight;
  arrive(nack(1, wire::NackReason::kTrimmed));
  const int64_t once = endpoint_->qp_status(qp_).inflight;
  EXPECT_LT(once, before);
  for (int i = 0; i < 5; ++i) arrive(nack(1, wire::NackReason::kTrimmed));
  EXPECT_EQ(endpoint_->qp_status(qp_).inflight, once);
  EXPECT_EQ(endpoint_->plane_counters(0_plane).losses + endpoint_->plane_counters(1_plane).losses, 1u);
}

// [MRC-NACK-1]: the copy that a switch trimmed was not the only one.
TEST_F(RequesterAckTest, a_nack_of_a_packet_that_has_arrived_is_no_loss) {
  send(3);
  arrive(sack(-1, 1, 0b10));
  arrive(nack(1, wire::NackReason::kTrimmed));
  drain();
  EXPECT_EQ(requests().size(), 3u);
  EXPECT_EQ(endpoint_->plane_counters(0_plane).losses + endpoint_->plane_counters(1_plane).losses, 0u);
  arrive(ack(2));
  EXPECT_EQ(sends_.size(), 3u);
  EXPECT_EQ(outstanding(), 0u);
}

}  // namespace
}  // namespace mrc::core
