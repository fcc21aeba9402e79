// The responder's answers: when a SACK is due, its content, and the answers that leave together. [MRC-SACK-*, MRC-CC-*]
#include <set>

#include "core/ack_piggyback_policy.h"
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class ResponderAckTest : public LoneEndpoint {
 protected:
  std::vector<const SentPacket*> sacks() const { return sent(wire::Opcode::kSack); }
  static Psn base_of(const wire::Seth& s) { return s.cack_psn + s.sack_offset; }  // [MRC-SACK-3]
  void take(const wire::Packet& p, wire::Ecn ecn = wire::Ecn::kEct0) {
    arrive(p, ecn);
    drain();
  }
};

// [MRC-SACK-5] [MRC-CHOICE-Q16]
TEST_F(ResponderAckTest, coalesced_answers_leave_with_their_timer) {
  start();
  take(write_packet(0));
  pass(config_.ack_delay - Duration::nanoseconds(1));
  EXPECT_TRUE(sacks().empty());
  pass(Duration::nanoseconds(1));
  EXPECT_EQ(sacks().size(), 1u);
  EXPECT_EQ(sent(wire::Opcode::kAck).size(), 1u);
}

TEST_F(ResponderAckTest, enough_bytes_are_answered_at_once_each_packet_for_at_least_1024) {
  config_.sack_bytes = 4 * 1024;
  start();
  for (int32_t k = 0; k < 3; ++k) take(write_packet(k));
  EXPECT_TRUE(sacks().empty());
  take(write_packet(3));
  EXPECT_EQ(sacks().size(), 1u);
}

TEST_F(ResponderAckTest, four_things_are_answered_at_once) {
  start();
  wire::Packet p = write_packet(0);
  p.bth.ack_req = true;  // [MRC-BTH-4] [MRC-CHOICE-Q15]
  take(p);
  EXPECT_EQ(sacks().size(), 1u);
  p = write_packet(1);
  p.bth.rtx = true;
  take(p);
  EXPECT_EQ(sacks().size(), 2u);
  EXPECT_TRUE(sacks().back()->p.bth.rtx);  // [MRC-CHOICE-Q9]
  take(write_packet(2), wire::Ecn::kCe);
  EXPECT_EQ(sacks().size(), 3u);
  EXPECT_EQ(sacks().back()->p.sack.seth.m, wire::PathVerdict::kSkipOnce);  // [MRC-SACK-4]
  take(write_packet(2));                                                   // a duplicate
  EXPECT_EQ(sacks().size(), 4u);
  EXPECT_EQ(sacks().back()->p.sack.seth.m, wire::PathVerdict::kNone);
}

// [MRC-SACK-1] [MRC-SACK-2] [MRC-SACK-3] [MRC-SACK-6] [MRC-SACK-7] [MRC-CHOICE-Q4] [MRC-CHOICE-Q8]
TEST_F(ResponderAckTest, fields_of_a_sack_for_a_packet_behind_a_gap) {
  start();
  wire::Packet p = write_packet(5);
  p.bth.ack_req = true;
  take(p);
  ASSERT_EQ(sacks().size(), 1u);
  const SentPacket& s = *sacks()[0];
  const wire::Seth& seth = s.p.sack.seth;
  EXPECT_EQ(seth.cack_psn, attr_.rq_psn - 1);
  EXPECT_EQ(s.p.bth.psn, seth.cack_psn);
  EXPECT_EQ(seth.ack_psn(), attr_.rq_psn + 5);
  EXPECT_EQ(base_of(seth).value() % 8, 0u);
  for (int32_t k = -8; k < 40; ++k) {
    const int32_t bit = (attr_.rq_psn + k) - base_of(seth);
    if (bit < 0 || bit > 63) continue;
    EXPECT_EQ(seth.sack_bitmap >> bit & 1, k < 0 || k == 5) << k;
  }
  EXPECT_EQ(seth.entropy, 60000u);
  EXPECT_EQ(seth.cc_type, 0);
  EXPECT_EQ(seth.spdcid, kOwnQpn.value());
  EXPECT_EQ(seth.dpdcid, kPeerQpn.value());
  EXPECT_FALSE(seth.pr);
  EXPECT_EQ(s.p.sack.cc.ooo_count, 1);  // [MRC-CC-1]
  EXPECT_EQ(s.flow.dscp(), config_.dscp.control);
}

// [MRC-SACK-11]
TEST_F(ResponderAckTest, a_packet_that_had_arrived_before_is_reported_as_such) {
  start();
  arrive(write_packet(0));
  arrive(write_packet(1));
  pass(config_.ack_delay);
  ASSERT_EQ(sacks().size(), 1u);
  EXPECT_FALSE(sacks()[0]->p.bth.ack_req);
  for (const int32_t k : {0, 1}) {  // before an answer can leave
    wire::Packet p = write_packet(k);
    p.bth.rtx = k == 1;
    arrive(p);
  }
  drain();
  ASSERT_EQ(sacks().size(), 3u);
  for (const int32_t k : {0, 1}) {
    const wire::Packet& p = sacks()[static_cast<size_t>(1 + k)]->p;
    EXPECT_TRUE(p.bth.ack_req);
    EXPECT_EQ(p.bth.rtx, k == 1);
    EXPECT_EQ(p.sack.seth.ack_psn(), attr_.rq_psn + k);
  }
  EXPECT_EQ(counters().rx_duplicates, 2u);
  wire::Packet p = write_packet(2);
  p.bth.rtx = true;
  take(p);
  EXPECT_FALSE(sacks().back()->p.bth.ack_req) << "sent again, and new";
  take(write_packet(2));
  take(probe(7));
  EXPECT_TRUE(sacks().back()->p.sack.seth.pr);
  EXPECT_FALSE(sacks().back()->p.bth.ack_req);
  const size_t before = sacks().size();
  receive(write_packet(2), inbound(0, wire::Ecn::kEct0, config_.dscp.trimmed));
  drain();
  EXPECT_GT(sacks().size(), before);
  EXPECT_FALSE(sacks().back()->p.bth.ack_req) << "what was trimmed is counted as that";
}

// [MRC-SACK-11] Bursts of one packet: more copies arrive than reports of them leave.
TEST_F(ResponderAckTest, acks_do_not_wait_for_reports_of_copies) {
  config_.max_segments = 1;
  start();
  take(write_packet(0));
  sent_.clear();
  for (int i = 0; i < 20; ++i) {
    for (int copies = 0; copies < 3; ++copies) arrive(write_packet(0));
    for (int bursts = 0; bursts < 2; ++bursts) send_burst();
  }
  EXPECT_GE(sent(wire::Opcode::kAck).size(), 19u);
  drain();
  size_t reported = 0;
  for (const SentPacket* s : sacks()) reported += s->p.bth.ack_req;
  EXPECT_EQ(reported, 60u);
}

// [MRC-SACK-11]
TEST_F(ResponderAckTest, nothing_of_ours_is_sent_to_a_nic) {
  peer_.nic = true;
  start();
  take(write_packet(0));
  take(write_packet(0));
  ASSERT_FALSE(sacks().empty());
  for (const SentPacket* s : sacks()) EXPECT_FALSE(s->p.bth.ack_req);
  EXPECT_EQ(counters().rx_duplicates, 1u);
}

// [MRC-SACK-8]
TEST_F(ResponderAckTest, the_window_is_told_only_when_dynamic_mpr_was_agreed) {
  attr_.mpr_dest = 7;
  for (bool dynamic : {false, true}) {
    sent_.clear();
    attr_.dynamic_mpr = dynamic;
    start();
    take(write_packet(0));
    pass(config_.ack_delay);
    EXPECT_EQ(sacks()[0]->p.sack.seth.mpr, dynamic ? 7 : 0);
  }
}

// [MRC-SACK-9] [MRC-CC-2]
TEST_F(ResponderAckTest, the_receiver_penalty_is_in_every_sack_until_changed) {
  start();
  endpoint_->set_receiver_penalty(127, false);
  for (int32_t k = 0; k < 3; ++k) {
    if (k == 2) endpoint_->set_receiver_penalty(0, true);
    take(write_packet(k));
    pass(config_.ack_delay);
    EXPECT_EQ(sacks().back()->p.sack.cc.rcv_cwnd_pen, k == 2 ? 0 : 127);
    EXPECT_EQ(sacks().back()->p.sack.cc.restore_cwnd, k == 2);
  }
}

// [MRC-CC-3] [MRC-UDP-3] [MRC-CHOICE-Q11] [MRC-NSCC-1]
TEST_F(ResponderAckTest, rcvd_bytes_count_nominal_sizes_of_new_packets) {
  start();
  take(write_packet(0, 200));
  take(write_packet(0, 200));
  take(write_packet(1, 200));
  pass(config_.ack_delay);
  const uint32_t each = wire::nominal_size(wire::packet_bytes(wire::Opcode::kWriteOnly, false, 200));
  EXPECT_EQ(sacks().front()->p.sack.cc.rcvd_bytes, (each + 255) / 256);
  EXPECT_EQ(sacks().back()->p.sack.cc.rcvd_bytes, (2 * each + 255) / 256);
}

// [MRC-CC-4] [MRC-CHOICE-Q12] [MRC-CHOICE-Q14]
TEST_F(ResponderAckTest, the_reflected_timestamp_has_the_residence_time_added) {
  config_.ack_delay = Duration::nanoseconds(128 * 50);
  start();
  wire::Packet p = write_packet(0);
  p.bth.ts = true;
  p.tseth.tx_timestamp = 0xFFF0;
  take(p);
  pass(config_.ack_delay);
  EXPECT_EQ(sacks().back()->p.sack.cc.tx_timestamp, static_cast<uint16_t>(0xFFF0 + 50));
  take(write_packet(1));  // without TSETH
  pass(config_.ack_delay);
  EXPECT_EQ(sacks().back()->p.sack.cc.tx_timestamp, 0);
}

// [MRC-ACK-2]
TEST_F(ResponderAckTest, pending_answers_leave_as_one_burst_with_the_ack_last) {
  attr_.mpr_dest = 4;
  start();
  for (int32_t k : {0, 1, 100, 300}) take(write_packet(k));  // three stretches between them hold nothing
  pass(config_.ack_delay);
  EXPECT_EQ(bursts_, 1u);
  ASSERT_EQ(sent_.size(), 3u);  // one SACK per stretch in which something is new, and the ACK
  EXPECT_EQ(sent_[0]->op(), wire::Opcode::kSack);
  EXPECT_EQ(sent_[1]->op(), wire::Opcode::kSack);
  EXPECT_EQ(sent_[2]->op(), wire::Opcode::kAck);
  EXPECT_EQ(sent_[2]->p.bth.psn, attr_.rq_psn + 1);
  EXPECT_EQ(sent_[2]->p.aeth.msn, 2u);  // [MRC-AETH-2]
}

// [MRC-SACK-10]: a SACK may be lost, and the next one repeats its content as far as its bitmap reaches.
TEST_F(ResponderAckTest, a_bitmap_reaches_back_over_what_was_reported_before) {
  start();
  for (int32_t k = 1; k <= 40; ++k) {
    take(write_packet(k));
    if (k % 10 == 0) pass(config_.ack_delay);
  }
  ASSERT_EQ(sacks().size(), 4u);
  const wire::Seth& last = sacks().back()->p.sack.seth;
  for (int32_t k = 1; k <= 40; ++k) {
    const int32_t bit = (attr_.rq_psn + k) - base_of(last);
    ASSERT_TRUE(bit >= 0 && bit < 64) << k;
    EXPECT_TRUE(last.sack_bitmap >> bit & 1) << k;
  }
}

// [MRC-SACK-10]: what lies further back is repeated once.
TEST_F(ResponderAckTest, a_stretch_out_of_reach_is_reported_once_more) {
  attr_.mpr_dest = 4;
  start();
  const auto reports = [&](int32_t k) {
    int n = 0;
    for (const SentPacket* s : sacks()) {
      const int32_t bit = (attr_.rq_psn + k) - base_of(s->p.sack.seth);
      if (bit >= 0 && bit < 64 && (s->p.sack.seth.sack_bitmap >> bit & 1)) ++n;
    }
    return n;
  };
  take(write_packet(10));
  pass(config_.ack_delay);
  EXPECT_EQ(reports(10), 1);
  for (int32_t k : {300, 301, 302}) {
    take(write_packet(k));
    pass(config_.ack_delay);
    EXPECT_EQ(reports(10), 2) << k;
    EXPECT_EQ(reports(300), k - 299);
  }
}

// [MRC-ACK-3]
TEST_F(ResponderAckTest, an_ack_rides_behind_data_except_where_switches_trim) {
  for (bool trimming : {false, true}) {
    sent_.clear();
    bursts_ = 0;
    config_.trimming = trimming;
    start();
    arrive(write_packet(0));
    post(1, 256);
    drain();
    ASSERT_GE(sent_.size(), 2u);
    const SentPacket* data = requests()[0];
    const SentPacket* ack = sent(wire::Opcode::kAck).at(0);
    EXPECT_EQ(ack->burst == data->burst, !trimming);
  }
}

// [MRC-ACK-3]
TEST_F(ResponderAckTest, in_a_conversation_acks_are_left_out_until_the_peer_is_silent) {
  start();
  int32_t k = 0;
  const auto exchange = [&] {
    arrive(write_packet(k++));
    post(1, 64);
    drain();
    pass(config_.ack_delay / 2);
  };
  const auto acks = [&] { return sent(wire::Opcode::kAck).size(); };
  for (uint32_t i = 0; i < AckPiggybackPolicy::kFirstPause; ++i) exchange();
  EXPECT_EQ(acks(), AckPiggybackPolicy::kFirstPause);
  for (uint32_t i = 0; i < AckPiggybackPolicy::kMaxLeftOut; ++i) exchange();
  EXPECT_EQ(acks(), AckPiggybackPolicy::kFirstPause);
  exchange();
  ASSERT_EQ(acks(), AckPiggybackPolicy::kFirstPause + 1u);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + (k - 1));  // for all of them
  // The last word is acknowledged by the timer, as soon as that of a message without a reply.
  exchange();
  EXPECT_EQ(acks(), AckPiggybackPolicy::kFirstPause + 1u);
  pass(config_.ack_delay - config_.ack_delay / 2);
  ASSERT_EQ(acks(), AckPiggybackPolicy::kFirstPause + 2u);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + (k - 1));
  // After a silence they go along again.
  exchange();
  EXPECT_EQ(acks(), AckPiggybackPolicy::kFirstPause + 3u);
}

// [MRC-ACK-3]: a sender that needs an ACK requests it.
TEST_F(ResponderAckTest, an_ack_that_is_asked_for_is_not_left_out) {
  start();
  for (int32_t k = 0; k < 30; ++k) {
    wire::Packet p = write_packet(k);
    p.bth.ack_req = k >= 20;
    arrive(p);
    post(1, 64);
    drain();
    if (k >= 20) {
      EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + k);
    }
  }
}

// [MRC-PROBE-3] [MRC-PROBE-4]
TEST_F(ResponderAckTest, the_answer_of_a_probe_is_complete_and_ends_with_it) {
  attr_.mpr_dest = 4;
  start();
  for (int32_t k : {0, 100, 300}) take(write_packet(k));
  pass(config_.ack_delay);  // reported once already
  sent_.clear();
  take(probe(0xBEEF), wire::Ecn::kCe);
  ASSERT_GE(sent_.size(), 4u);
  std::set<uint32_t> named;
  for (const SentPacket* s : sacks())
    for (int bit = 0; bit < 64; ++bit)
      if (s->p.sack.seth.sack_bitmap >> bit & 1) named.insert((base_of(s->p.sack.seth) + bit).value());
  EXPECT_EQ(named.count((attr_.rq_psn + 100).value()), 1u);
  EXPECT_EQ(named.count((attr_.rq_psn + 300).value()), 1u);
  const wire::Seth& last = sacks().back()->p.sack.seth;
  for (const SentPacket* s : sacks()) EXPECT_EQ(s->p.sack.seth.pr, s == sacks().back());
  EXPECT_EQ(last.probe_id, 0xBEEF);
  EXPECT_EQ(last.m, wire::PathVerdict::kSkipOnce);
  EXPECT_EQ(last.entropy, 60000u);
  EXPECT_EQ(sacks().back()->p.sack.cc.tx_timestamp, 1000);
  EXPECT_EQ(sent_.back()->op(), wire::Opcode::kAck);
}

// [MRC-PROBE-5] As after a pause of this host: the other answers would contain nothing more.
TEST_F(ResponderAckTest, of_probes_that_are_read_together_the_last_is_answered) {
  start();
  arrive(probe(1));
  receive(probe(2), inbound(1), 1);
  drain();
  ASSERT_EQ(sacks().size(), 1u);
  EXPECT_EQ(sacks()[0]->p.sack.seth.probe_id, 2);
}

// [MRC-NACK-1] [MRC-NACK-3] [MRC-NACK-4] [MRC-CHOICE-Q24] [MRC-CHOICE-Q30]
TEST_F(ResponderAckTest, trimmed_packets_are_nacked_until_they_have_arrived) {
  start();
  wire::Packet p = write_packet(2);
  p.bth.ts = true;
  p.tseth.tx_timestamp = 0x4321;
  receive(p, inbound(0, wire::Ecn::kEct0, config_.dscp.trimmed));
  receive(write_packet(3), inbound(0, wire::Ecn::kEct0, config_.dscp.trimmed_lasthop));
  drain();
  const auto nacks = sent(wire::Opcode::kNack);
  ASSERT_EQ(nacks.size(), 2u);
  EXPECT_EQ(nacks[0]->p.neth.reason, wire::NackReason::kTrimmed);
  EXPECT_EQ(nacks[1]->p.neth.reason, wire::NackReason::kTrimmedLastHop);
  EXPECT_EQ(nacks[0]->p.neth.nack_psn, attr_.rq_psn + 2);
  EXPECT_EQ(nacks[0]->p.bth.psn, attr_.rq_psn + 2);
  EXPECT_EQ(nacks[0]->p.neth.entropy, 60000u);
  EXPECT_EQ(nacks[0]->p.neth.tx_timestamp, 0x4321);
  EXPECT_EQ(nacks[0]->p.neth.cc_type, 2);
  EXPECT_EQ(nacks[0]->p.neth.cc_fl, 0);
  EXPECT_EQ(nacks[0]->p.neth.vendor_info, 0);
  take(write_packet(2));
  receive(write_packet(2), inbound(0, wire::Ecn::kEct0, config_.dscp.trimmed));
  drain();
  EXPECT_EQ(sent(wire::Opcode::kNack).size(), 2u);
  EXPECT_EQ(sacks().size(), 1u);
}

}  // namespace
}  // namespace mrc::core
