// Endpoint operations: EV probes, port status, and the answers to both. [MRC-EVP-*] [MRC-PORT-*]
#include "core/path_prober.h"

#include <set>

#include "bare_engine.h"
#include "core/port_claims.h"
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class EndpointOpsTest : public LoneEndpoint {
 protected:
  wire::Packet request(wire::EndpointOp op, uint32_t mask = 0) {
    wire::Packet p = packet(wire::Opcode::kEndpointRequest, Psn(0x1234));
    p.bth.dqp = wire::kEndpointQpn;
    p.erth = wire::Erth();
    p.erth.op = op;
    p.erth.port_status_mask = mask;
    p.erth.timestamp.tx_timestamp = 0x5678;
    return p;
  }
  void answer(const SentPacket& asked, uint8_t from_plane) {
    wire::Packet p = packet(wire::Opcode::kEndpointResponse, asked.p.bth.psn);
    p.bth.dqp = wire::kEndpointQpn;
    p.eeth = wire::Eeth();
    p.eeth.op = asked.p.erth.op;
    p.eeth.tx_timestamp = asked.p.erth.timestamp.tx_timestamp;
    receive(p, inbound(from_plane), from_plane);
  }
  // The planes that a backlog of new data uses.
  PlaneSet used_planes() {
    sent_.clear();
    for (uint64_t i = 0; i < 8; ++i) post(i, 8);
    drain();
    PlaneSet used;
    for (const SentPacket* s : requests()) used.insert(s->plane);
    arrive(ack(static_cast<int32_t>(endpoint_->qp_status(qp_).tx_packets) - 1));
    return used;
  }
  void port_status(uint32_t mask, uint8_t plane) {
    receive(request(wire::EndpointOp::kPortStatus, mask), inbound(plane), plane);
    drain();
  }
  std::vector<const SentPacket*> asked() const { return sent(wire::Opcode::kEndpointRequest); }
  // Three T1s on each plane, the last one of backups; or none that is named.
  void name_links(bool named) {
    for (const EvIndex ev : config_.evs.ids()) config_.evs[ev].link = named ? 1 + ev.value() / 4u : 0;
  }
  std::vector<const SentPacket*> answered() const { return sent(wire::Opcode::kEndpointResponse); }
};

// [MRC-EVP-1] [MRC-EVP-4]
TEST_F(EndpointOpsTest, a_probe_is_answered_by_id_from_the_address_that_was_asked) {
  start();
  ASSERT_TRUE(endpoint_->start_endpoint_op(now_, peer_id_, 2_ev, 7, false, {}, Duration::milliseconds(5)));
  EXPECT_FALSE(endpoint_->start_endpoint_op(now_, peer_id_, 3_ev, 7, false, {}, Duration::milliseconds(5)));
  EXPECT_FALSE(endpoint_->start_endpoint_op(now_, peer_id_, 10_ev, 8, false, {}, Duration::milliseconds(5)));
  drain();
  ASSERT_EQ(asked().size(), 1u);
  EXPECT_EQ(asked()[0]->p.bth.dqp, wire::kEndpointQpn);
  EXPECT_EQ(asked()[0]->p.bth.psn, Psn(7));
  EXPECT_EQ(asked()[0]->ev, 2_ev);
  now_ = now_ + Duration::microseconds(30);
  answer(*asked()[0], 1);  // another address of the peer: not the one that was asked
  EXPECT_TRUE(responses_.empty());
  answer(*asked()[0], 0);
  ASSERT_EQ(responses_.size(), 1u);
  EXPECT_EQ(responses_[0].second, Duration::microseconds(30));
  answer(*asked()[0], 0);  // once only
  EXPECT_EQ(responses_.size(), 1u);
  EXPECT_EQ(counters().drop_stale, 2u);
}

TEST_F(EndpointOpsTest, silence_ends_at_its_timeout_without_a_repeat) {
  start();
  endpoint_->start_endpoint_op(now_, peer_id_, 2_ev, 7, false, {}, Duration::milliseconds(5));
  drain();
  pass(Duration::milliseconds(5) - Duration::nanoseconds(1));
  EXPECT_TRUE(responses_.empty());
  pass(Duration::nanoseconds(1));
  ASSERT_EQ(responses_.size(), 1u);
  EXPECT_EQ(responses_[0].second, Duration::infinite());
  EXPECT_EQ(asked().size(), 1u);
  EXPECT_TRUE(endpoint_->start_endpoint_op(now_, peer_id_, 2_ev, 7, false, {}, Duration::milliseconds(5)));
}

// A probe without room is refused at once, rather than not sent and reported as unanswered.
TEST_F(EndpointOpsTest, an_operation_beyond_the_queue_is_refused) {
  start();
  const auto begin = [&](uint16_t id) {
    return endpoint_->start_endpoint_op(now_, peer_id_, 2_ev, id, false, {}, Duration::seconds(1));
  };
  uint16_t id = 0;
  while (id < 5000 && begin(id)) ++id;
  EXPECT_GT(id, 100);
  EXPECT_LT(id, 5000);
  EXPECT_EQ(endpoint_->control_waiting(), id);
  drain();
  EXPECT_EQ(endpoint_->control_waiting(), 0u);
  EXPECT_EQ(asked().size(), id);
  EXPECT_TRUE(begin(id));  // the refused number was not taken
  drain();
  pass(Duration::seconds(2));
  EXPECT_EQ(responses_.size(), id + 1u);
}

// [MRC-EVP-3] [MRC-CHOICE-Q22] [MRC-CHOICE-Q7]
TEST_F(EndpointOpsTest, responses_repeat_id_and_stamp_in_the_control_class) {
  start();
  for (uint8_t plane : {0, 1}) {
    sent_.clear();
    receive(request(wire::EndpointOp::kEvProbe), inbound(plane), plane);
    drain();
    ASSERT_EQ(answered().size(), 1u);
    const SentPacket& s = *answered()[0];
    EXPECT_EQ(s.p.bth.psn, Psn(0x1234));
    EXPECT_EQ(s.p.bth.dqp, wire::kEndpointQpn);
    EXPECT_EQ(s.p.eeth.op, wire::EndpointOp::kEvProbe);
    EXPECT_EQ(s.p.eeth.tx_timestamp, 0x5678);
    EXPECT_EQ(s.flow.dscp(), config_.dscp.control);
    EXPECT_EQ(s.flow.dst, theirs(plane));
    EXPECT_EQ(s.plane, PlaneId(plane));
  }
}

// [MRC-EVS-15] A probe tests the links of one EV both ways, where EVs name them.
TEST_F(EndpointOpsTest, the_answer_takes_the_ev_of_the_request_where_evs_name_links) {
  for (const bool named : {true, false}) {
    name_links(named);
    start();
    wire::Flow flow = inbound();
    std::set<EvIndex> used, other;
    for (int i = 0; i < 16; ++i) {
      for (const uint16_t port : {50004, 50005}) {  // the latter's EV lies on the other plane
        sent_.clear();
        flow.src_port = port;
        receive(request(wire::EndpointOp::kEvProbe), flow);
        drain();
        ASSERT_EQ(answered().size(), 1u);
        EXPECT_EQ(answered()[0]->plane, 0_plane);
        (port == 50004 ? used : other).insert(answered()[0]->ev);
      }
    }
    if (named) {
      EXPECT_EQ(used, std::set<EvIndex>{4_ev});
    } else {
      EXPECT_GT(used.size(), 1u);
    }
    EXPECT_GT(other.size(), 1u);
  }
}

// [MRC-EVS-15]
TEST_F(EndpointOpsTest, a_connection_tests_its_links_until_a_message_is_posted) {
  const Duration half = config_.ev_probe_interval / 2;
  for (const bool posted : {false, true}) {
    name_links(true);
    start();
    sent_.clear();
    if (posted) post(1, 8);
    pass(half);
    EXPECT_EQ(asked().size(), posted ? 0u : 6u);
  }
  name_links(false);
  start();
  sent_.clear();
  pass(half);
  EXPECT_TRUE(asked().empty());
}

// [MRC-EVS-15]
TEST_F(EndpointOpsTest, first_probes_wait_while_many_requests_are_outstanding) {
  for (const uint16_t outstanding : {127, 128}) {
    name_links(true);
    start();
    for (uint16_t id = 0; id < outstanding; ++id) {
      ASSERT_TRUE(endpoint_->start_endpoint_op(now_, peer_id_, 0_ev, id, false, {}, config_.ev_probe_interval));
      drain();
    }
    sent_.clear();
    pass(config_.ev_probe_interval / 2);
    EXPECT_EQ(asked().size(), outstanding == 127 ? 1u : 0u);
    pass(config_.ev_probe_interval);
    EXPECT_GE(asked().size(), 6u);
  }
}

// [MRC-EVS-9] What came while this host did not run may not have been read yet.
TEST_F(EndpointOpsTest, a_probe_does_not_expire_before_this_host_has_caught_up) {
  for (const bool answered : {true, false}) {
    name_links(true);
    start();
    sent_.clear();
    pass(config_.ev_probe_interval / 2);
    ASSERT_EQ(asked().size(), 6u);
    for (size_t i = 1; i < 6; ++i) answer(*asked()[i], asked()[i]->plane.value());
    now_ = now_ + config_.ev_probe_interval * 4;
    endpoint_->on_resumed(now_);
    pass(Duration::milliseconds(1) - Duration::nanoseconds(1));
    EXPECT_EQ(counters().link_suspicions, 0u);
    if (answered) answer(*asked()[0], asked()[0]->plane.value());
    pass(Duration::nanoseconds(1));
    EXPECT_EQ(counters().link_suspicions, answered ? 0u : 1u);
  }
}

// [MRC-EVP-2]
TEST_F(EndpointOpsTest, other_operations_get_no_answer) {
  start();
  for (uint8_t op : {2, 3}) receive(request(static_cast<wire::EndpointOp>(op)), inbound());
  drain();
  EXPECT_TRUE(sent_.empty());
}

// [MRC-EVP-5]
TEST_F(EndpointOpsTest, responses_go_to_the_slot_that_asked) {
  config_.slot_ports = {{4791, 20000}, {4791, 21024}};
  config_.slot = 3;
  start();
  for (auto [slot, port] : {std::pair{0, 4791}, {5, 20005}}) {
    sent_.clear();
    wire::Packet p = request(wire::EndpointOp::kEvProbe);
    p.erth.vendor_info = static_cast<uint8_t>(slot);
    receive(p, inbound());
    drain();
    ASSERT_EQ(answered().size(), 1u);
    EXPECT_EQ(answered()[0]->flow.dst_port, port);
  }
  endpoint_->start_endpoint_op(now_, peer_id_, 0_ev, 9, false, {}, Duration::milliseconds(1));
  drain();
  EXPECT_EQ(asked()[0]->p.erth.vendor_info, 3);
}

// [MRC-PORT-1] [MRC-CHOICE-Q23]: bit 0 is port 1. New data avoid the plane from the packet on, the probes leave at
// once.
TEST_F(EndpointOpsTest, port_status_moves_traffic_at_once_and_for_good_when_probes_go_unanswered) {
  config_.max_segments = 1;  // every packet on its own EV
  start();
  port_status(1, 0);
  ASSERT_EQ(asked().size(), PortClaims::kProbes);
  for (const SentPacket* s : asked()) {
    EXPECT_EQ(s->plane, 1_plane);
    EXPECT_EQ(s->p.erth.op, wire::EndpointOp::kEvProbe);
  }
  EXPECT_EQ(answered().size(), 1u);
  EXPECT_EQ(used_planes(), 1_planes);
  pass(PortClaims::kProbeTimeout * 2);
  EXPECT_EQ(used_planes(), 1_planes);
  EXPECT_EQ(counters().port_status_refuted, 0u);
  port_status(3, 0);  // up again: asked at once, in use when it answers
  EXPECT_EQ(used_planes(), 1_planes);
  port_status(3, 0);
  pass(config_.ev_probe_interval);
  ASSERT_FALSE(asked().empty());
  answer(*asked().back(), 1);
  EXPECT_EQ(used_planes(), 3_planes);
}

// [MRC-PORT-1] [MRC-PORT-5]: a forged update costs the plane one round trip, and the next one nothing.
TEST_F(EndpointOpsTest, port_status_that_a_probe_refutes_moves_nothing) {
  config_.max_segments = 1;
  start();
  port_status(1, 0);
  ASSERT_FALSE(asked().empty());
  answer(*asked().back(), 1);
  EXPECT_EQ(used_planes(), 3_planes);
  EXPECT_EQ(counters().port_status_refuted, 1u);
  port_status(1, 0);
  EXPECT_TRUE(answered().empty());  // so that an honest peer repeats it
  EXPECT_EQ(counters().port_status_refused, 1u);
  EXPECT_EQ(used_planes(), 3_planes);
}

// [MRC-PORT-1]: no port at all, or not the one by which the update came.
TEST_F(EndpointOpsTest, impossible_port_status_is_refused_and_not_answered) {
  config_.max_segments = 1;
  start();
  port_status(0, 0);
  port_status(2, 0);
  port_status(1, 1);
  port_status(~1u, 0);
  EXPECT_EQ(counters().port_status_refused, 4u);
  EXPECT_TRUE(answered().empty());
  EXPECT_TRUE(asked().empty());
  EXPECT_EQ(used_planes(), 3_planes);
}

// [MRC-EVP-4]: who forges the address of the peer still has to guess the timestamp.
TEST_F(EndpointOpsTest, an_answer_must_reflect_the_timestamp_once_the_peer_has_done_so) {
  start();
  const auto answer_with = [&](uint16_t id, int change, bool zero = false) {
    ASSERT_TRUE(endpoint_->start_endpoint_op(now_, peer_id_, 2_ev, id, false, {}, Duration::seconds(1)));
    drain();
    const SentPacket& s = *asked().back();
    wire::Packet p = packet(wire::Opcode::kEndpointResponse, s.p.bth.psn);
    p.bth.dqp = wire::kEndpointQpn;
    p.eeth = wire::Eeth();
    p.eeth.tx_timestamp = zero ? 0 : static_cast<uint16_t>(s.p.erth.timestamp.tx_timestamp + change);
    receive(p, inbound(0), 0);
  };
  answer_with(1, 0, true);  // a NIC that reflects nothing
  EXPECT_EQ(responses_.size(), 1u);
  answer_with(2, 1);
  EXPECT_EQ(responses_.size(), 1u);
  answer_with(3, 0);
  EXPECT_EQ(responses_.size(), 2u);
  answer_with(4, 0, true);  // this peer does reflect
  EXPECT_EQ(responses_.size(), 2u);
  EXPECT_EQ(counters().drop_stale, 2u);
}

// [MRC-EVS-8] [MRC-EVS-9]: a receiver whose peer is far or slow checks its reverse paths. Round trips of two to seven
// probing intervals retire no plane for longer than the first of them takes.
TEST_F(EndpointOpsTest, probes_of_a_peer_that_is_slow_to_answer_retire_no_plane) {
  for (int64_t intervals : {2, 4, 7}) {
    const Duration rtt = config_.ev_probe_interval * intervals + Duration::microseconds(1);
    sent_.clear();
    start();
    size_t answers = 0;
    std::vector<Instant> asked_at;
    uint64_t suspensions = 0;
    const Instant begin = now_;
    for (int32_t k = 0; now_ < begin + rtt * 20; ++k) {
      arrive(write_packet(k % 2 == 0 ? k / 2 : 0));  // traffic comes in
      pass(Duration::milliseconds(1));
      while (asked_at.size() < asked().size()) asked_at.push_back(now_);
      while (answers < asked_at.size() && asked_at[answers] + rtt <= now_) {
        answer(*asked()[answers], asked()[answers]->plane.value());
        ++answers;
      }
      if (now_ < begin + rtt * 3) suspensions = counters().plane_suspensions;
    }
    EXPECT_GT(answers, 20u) << intervals;
    EXPECT_EQ(counters().plane_suspensions, suspensions) << intervals;
    EXPECT_LE(suspensions, 1u) << intervals;
    for (const EvStatus& status : endpoint_->ev_status(peer_id_)) EXPECT_EQ(status.state, EvState::kGood) << intervals;
  }
}

// [MRC-EVS-9]: a plane with a long queue, in which the answers to a receiver's checks wait behind requests.
TEST_F(EndpointOpsTest, a_receiver_does_not_retire_a_plane_with_a_long_queue) {
  const Duration queue = config_.ev_probe_interval * 3;
  start();
  size_t seen = 0, answers = 0;
  std::vector<std::pair<Instant, const SentPacket*>> waiting;
  for (int32_t k = 0; k < 1000; ++k) {
    receive(write_packet(k), inbound(k % 2), static_cast<uint8_t>(k % 2));
    pass(Duration::milliseconds(1));
    for (; seen < asked().size(); ++seen)
      waiting.emplace_back(now_ + (asked()[seen]->plane == 1_plane ? queue : Duration()), asked()[seen]);
    for (auto& [due, probe] : waiting) {
      if (probe == nullptr || due > now_) continue;
      answer(*probe, probe->plane.value());
      answers += probe->plane == 1_plane;
      probe = nullptr;
    }
  }
  EXPECT_GT(answers, 4u);
  EXPECT_EQ(counters().plane_suspensions, 0u);
  EXPECT_EQ(counters().ev_assumed_bad, 0u);
}

// [MRC-EVP-4]: ids of our own probes cannot be foreseen.
TEST_F(EndpointOpsTest, ids_of_probes_are_drawn) {
  start();
  port_status(1, 0);
  ASSERT_EQ(asked().size(), 3u);
  const uint32_t a = asked()[0]->p.bth.psn.value(), b = asked()[1]->p.bth.psn.value(),
                 c = asked()[2]->p.bth.psn.value();
  for (uint32_t id : {a, b, c}) EXPECT_GE(id, 0x8000u);
  EXPECT_NE(b, a + 1);
  EXPECT_NE(c - b, b - a);
}

// One event per plane that changed, whichever plane brought the news, and one when a probe proves it wrong.
TEST_F(EndpointOpsTest, port_status_is_traced_plane_by_plane) {
  struct Planes final : TraceSink {
    void on_trace(const TraceEntry& e) override {
      if (const auto changed = e.get<event::Plane>()) seen.push_back({changed->plane.value(), changed->up});
    }
    std::vector<std::pair<uint64_t, uint64_t>> seen;
  } planes;
  endpoint_ = std::make_unique<Endpoint>(config_, this, &planes);
  attr_.peer = peer_id_ = endpoint_->intern_peer(peer_);
  for (uint32_t mask : {2u, 2u, 1u, 3u}) port_status(mask, 1);
  answer(*asked().back(), 0);
  const std::vector<std::pair<uint64_t, uint64_t>> expected = {{0, 0}, {0, 1}};
  EXPECT_EQ(planes.seen, expected);
}

// [MRC-PORT-2]
TEST_F(EndpointOpsTest, a_plane_that_goes_down_is_told_over_another_until_answered) {
  start();
  endpoint_->set_plane_up(now_, 0_plane, false);
  EXPECT_EQ(events_.back(), AsyncEvent::kPortDown);
  drain();
  ASSERT_EQ(asked().size(), 1u);
  EXPECT_EQ(asked()[0]->plane, 1_plane);
  EXPECT_EQ(asked()[0]->p.erth.op, wire::EndpointOp::kPortStatus);
  EXPECT_EQ(asked()[0]->p.erth.port_status_mask, 2u);
  for (int i = 0; i < 3; ++i) {
    const size_t before = asked().size();
    pass(config_.ev_probe_interval * (1 << i) - Duration::nanoseconds(1));
    EXPECT_EQ(asked().size(), before);
    pass(Duration::nanoseconds(1));
    EXPECT_EQ(asked().size(), before + 1);
  }
  answer(*asked().back(), 1);
  const size_t settled = asked().size();
  pass(Duration::seconds(10));
  EXPECT_EQ(asked().size(), settled);
  endpoint_->set_plane_up(now_, 0_plane, true);
  drain();
  EXPECT_EQ(asked().back()->p.erth.port_status_mask, 3u);
  endpoint_->set_plane_up(now_, 0_plane, true);  // no change, no word
  drain();
  EXPECT_EQ(asked().size(), settled + 1);
}

// [MRC-EVS-8] [MRC-CHOICE-Q20]: a retired path is probed by itself, and any answer makes it usable again.
TEST_F(EndpointOpsTest, retired_paths_are_probed_until_they_answer) {
  attr_.timeout = 10;
  config_.probe_floor = Duration::seconds(1);
  start();
  post(1, 8);
  drain();
  post(2, 8);
  drain();
  const EvIndex used = requests()[0]->ev;
  now_ = now_ + Duration::microseconds(900);
  arrive(sack(-1, 1, 0b10));  // the first one is not answered in four times that
  pass(Duration::microseconds(2700));
  ASSERT_EQ(ev(used).state, EvState::kAssumedBad);
  arrive(ack(1));
  std::vector<const SentPacket*> of_it;
  for (int ms = 0; ms < 400 && of_it.size() < 2; ++ms) {
    pass(Duration::milliseconds(1));
    of_it.clear();
    for (const SentPacket* each : asked())
      if (each->ev == used) of_it.push_back(each);
  }
  ASSERT_GE(of_it.size(), 2u);
  EXPECT_NE(of_it[0]->p.bth.psn, of_it[1]->p.bth.psn);
  const wire::Flow flow = inbound(of_it.back()->plane.value(), wire::Ecn::kCe);
  wire::Packet p = packet(wire::Opcode::kEndpointResponse, of_it.back()->p.bth.psn);
  p.bth.dqp = wire::kEndpointQpn;
  p.eeth = wire::Eeth();
  receive(p, flow, of_it.back()->plane.value());
  EXPECT_EQ(ev(used).state, EvState::kGood);
  EXPECT_EQ(counters().ev_recovered, 1u);
}

// [API-CTL-2]
TEST_F(EndpointOpsTest, a_request_leaves_with_the_traffic_class_of_the_caller) {
  config_.dscp.no_trim = 3;
  start();
  const struct {
    uint8_t asked, dscp;
  } cases[] = {{0, 3}, {26 << 2, 26}, {26 << 2 | 3, 26}};  // the ECN bits are the engine's
  uint16_t id = 1;
  for (const auto& c : cases) {
    sent_.clear();
    ASSERT_TRUE(endpoint_->start_endpoint_op(now_, peer_id_, 0_ev, id++, false, {}, Duration::seconds(1), c.asked));
    drain();
    ASSERT_EQ(asked().size(), 1u);
    EXPECT_EQ(asked()[0]->flow.traffic_class >> 2, c.dscp);
    EXPECT_EQ(asked()[0]->flow.traffic_class & 3, 2);
  }
}

// [MRC-PORT-3]
TEST_F(EndpointOpsTest, a_port_that_is_said_to_be_down_is_asked_now_and_then_and_taken_back_when_it_answers) {
  start();
  receive(request(wire::EndpointOp::kPortStatus, 1), inbound(0), 0);  // plane 1 is down
  const auto carries_plane_1 = [&] {
    sent_.clear();
    post(1, 256 * 16);
    drain();
    for (const SentPacket* s : requests())
      if (s->plane == 1_plane) return true;
    return false;
  };
  EXPECT_FALSE(carries_plane_1());
  endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_);  // its data are not the point here
  bring_up(qp_);
  sent_.clear();
  const Duration pause = config_.ev_probe_interval * 8;
  pass(PortClaims::kProbeTimeout);
  sent_.clear();
  pass(pause - Duration::nanoseconds(1));
  EXPECT_TRUE(asked().empty());
  pass(pause * 2);
  ASSERT_GE(asked().size(), 2u);  // silence changes nothing
  for (const SentPacket* s : asked()) EXPECT_EQ(s->plane, 1_plane);
  EXPECT_EQ(ev(1_ev).state, EvState::kGood);
  pass(Duration::nanoseconds(1));
  answer(*asked().back(), 1);
  EXPECT_TRUE(carries_plane_1());
}

// [MRC-EVS-8] No QP is left that would use the answer.
TEST_F(EndpointOpsTest, a_peer_without_qps_is_asked_nothing) {
  start();
  attr_.timeout = 10;
  post(1, 8);
  arrive(write_packet(0));
  drain();
  pass(Duration::milliseconds(4));  // the request times out, and its path is bad
  endpoint_->destroy_qp(qp_);
  endpoint_->release_peer(peer_id_);
  ASSERT_TRUE(endpoint_->has_peer(peer_id_));  // a record refers to it
  pass(Duration::seconds(1));
  sent_.clear();
  pass(Duration::seconds(10));
  EXPECT_TRUE(asked().empty());
  endpoint_->set_plane_up(now_, 1_plane, false);
  pass(Duration::seconds(10));
  EXPECT_TRUE(asked().empty());
  endpoint_->set_plane_up(now_, 1_plane, true);
  attr_.peer = peer_id_ = endpoint_->intern_peer(peer_);
  qp_ = make_qp(Qpn(0x105));
  post(2, 8, SendOp::kWrite, true, qp_);
  drain();
  EXPECT_FALSE(requests().empty());
}

// The prober alone, without an endpoint.
class PathProberTest : public BareEngine {
 protected:
  PathProberTest() : peer_(peers_.intern(bare_peer())) {}
  EndpointRequest request(uint16_t id, EvIndex ev = {}, bool port_status = false) const {
    EndpointRequest r;
    r.peer = peer_;
    r.ev = ev;
    r.id = id;
    r.port_status = port_status;
    r.planes_up = 0b11_planes;
    return r;
  }
  void answer(const wire::Packet& asked, uint8_t plane) {
    wire::Packet p;
    p.bth.opcode = wire::Opcode::kEndpointResponse;
    p.bth.psn = asked.bth.psn;
    p.eeth = wire::Eeth();
    p.eeth.tx_timestamp = asked.erth.timestamp.tx_timestamp;
    wire::Flow flow;
    flow.src = bare_peer().planes[plane].addr;
    prober_.on_response(now_, flow, p);
  }
  static constexpr Duration kTimeout = Duration::milliseconds(5);
  PeerId peer_;
};

TEST_F(PathProberTest, one_operation_per_id) {
  EXPECT_TRUE(prober_.start(now_, request(7), kTimeout));
  EXPECT_FALSE(prober_.start(now_, request(7, 1_ev), kTimeout));
  EXPECT_TRUE(prober_.start(now_, request(8, 1_ev), kTimeout));
  EXPECT_EQ(prober_.outstanding(), 2u);
  prober_.check();
  const auto asked = queued();
  ASSERT_EQ(asked.size(), 2u);
  answer(asked[0], 1);  // another address of the peer
  EXPECT_EQ(prober_.outstanding(), 2u);
  answer(asked[0], 0);
  ASSERT_EQ(responses_.size(), 1u);
  EXPECT_EQ(responses_[0].first, 7);
  EXPECT_TRUE(prober_.start(now_, request(7), kTimeout));
}

TEST_F(PathProberTest, unknown_peers_and_evs_are_refused) {
  EndpointRequest to_unknown_peer = request(1);
  to_unknown_peer.peer = peer_ + 1;
  EXPECT_FALSE(prober_.start(now_, to_unknown_peer, kTimeout));
  EXPECT_TRUE(prober_.start(now_, request(1, 3_ev), kTimeout));
  EXPECT_FALSE(prober_.start(now_, request(2, 4_ev), kTimeout));
}

TEST_F(PathProberTest, a_timeout_is_reported_when_it_has_come) {
  ASSERT_TRUE(prober_.start(now_, request(7), kTimeout));
  EXPECT_EQ(prober_.timer()->deadline, now_ + kTimeout);
  prober_.on_timer(now_ + kTimeout - Duration::nanoseconds(1));
  EXPECT_TRUE(responses_.empty());
  prober_.on_timer(now_ + kTimeout);
  ASSERT_EQ(responses_.size(), 1u);
  EXPECT_EQ(responses_[0].second, Duration::infinite());
  EXPECT_EQ(prober_.timer()->deadline, Instant::never());
}

TEST_F(PathProberTest, operations_go_with_their_peer) {
  ASSERT_TRUE(prober_.start(now_, request(7), kTimeout));
  peers_.release(peer_);
  EXPECT_EQ(prober_.outstanding(), 0u);
  prober_.check();
}

TEST_F(PathProberTest, a_peer_that_is_left_is_asked_by_the_application_only) {
  EndpointRequest own = request(0x8001);
  own.internal = true;
  ASSERT_TRUE(prober_.start(now_, own, kTimeout));
  ASSERT_TRUE(prober_.start(now_, request(7), kTimeout));
  peers_.add_tombstone(peer_);
  peers_.release(peer_);
  EXPECT_EQ(prober_.outstanding(), 1u);
}

// [MRC-PORT-1]
TEST_F(PathProberTest, a_plane_that_goes_down_is_reported_to_every_peer) {
  peers_.intern(bare_peer(3));
  prober_.set_plane_up(now_, 1_plane, false);
  EXPECT_EQ(events_, (std::vector<AsyncEvent>{AsyncEvent::kPortDown}));
  auto sent = queued();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].erth.op, wire::EndpointOp::kPortStatus);
  EXPECT_EQ(sent[0].erth.port_status_mask, 0b01u);
  prober_.set_plane_up(now_, 1_plane, false);  // nothing new
  EXPECT_TRUE(queued().empty());
  prober_.set_plane_up(now_, 1_plane, true);
  EXPECT_EQ(prober_.outstanding(), 2u);  // the newest replaces the older one
  sent = queued();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].erth.port_status_mask, 0b11u);
}

// [MRC-MTU-1]
TEST_F(PathProberTest, a_search_asks_with_every_size_up_to_the_one_in_use) {
  Peer* const p = peers_.find(peer_);
  prober_.suspect_path_mtu(now_, p, 0_plane, 512);
  EXPECT_EQ(engine_.counters.mtu_searches, 1u);
  std::vector<uint32_t> sizes;
  while (control_.pop(&burst_, PlaneSet::all())) sizes.push_back(burst_.bytes);
  const auto full = [](uint32_t mtu) { return wire::packet_bytes(wire::Opcode::kWriteLastImm, true, mtu); };
  const uint32_t small = wire::packet_bytes(wire::Opcode::kEndpointRequest, false, 0) + wire::kEndpointPadding;
  ASSERT_EQ(sizes.size(), 2u + PathMtu::kFullProbes);
  EXPECT_EQ(sizes[0], small);
  EXPECT_EQ(sizes[1], full(256));
  for (size_t i = 2; i < sizes.size(); ++i) EXPECT_EQ(sizes[i], full(512));
  EXPECT_EQ(prober_.found_path_mtu(now_), UINT32_MAX);
}

}  // namespace
}  // namespace mrc::core
