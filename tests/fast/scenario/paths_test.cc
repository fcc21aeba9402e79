// Planes and EVs: failed or bad ones are retired, and restored when they work again.
#include "scenario/pair.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::scenario {
namespace {

// So many bytes every 200 us.
void traffic(Pair* p, Duration time, uint32_t bytes = 16384) {
  const Instant end = p->fabric.now() + time;
  uint64_t i = 0;
  while (p->fabric.now() < end) {
    p->write(i, (i % (983040 / bytes)) * bytes, bytes, true);
    ++i;
    p->pass(Duration::microseconds(200));
  }
}

uint64_t sent_on(Pair* p, uint8_t plane) {
  return p->fabric.at(0).plane_counters(PlaneId(plane)).tx_packets;
}

FabricConfig single_packets() {
  FabricConfig c;
  c.endpoint.max_segments = 1;  // every packet on its own EV
  return c;
}

TEST(Paths, a_dead_plane_is_left_and_comes_back) {
  Pair p(single_packets());
  const Instant dead = p.fabric.now() + Duration::milliseconds(5);
  p.fabric.net().add_outage({1, -1, dead, dead + Duration::milliseconds(200)});
  traffic(&p, Duration::milliseconds(25));
  const uint64_t on_dead = sent_on(&p, 1), on_other = sent_on(&p, 2);
  traffic(&p, Duration::milliseconds(100));
  const uint64_t dead_share = sent_on(&p, 1) - on_dead, other_share = sent_on(&p, 2) - on_other;
  EXPECT_GT(other_share, 100u);
  EXPECT_LT(dead_share * 2, other_share);  // probes only
  traffic(&p, Duration::milliseconds(1080));
  const uint64_t before = sent_on(&p, 1), other_before = sent_on(&p, 2);
  traffic(&p, Duration::milliseconds(50));
  EXPECT_GT((sent_on(&p, 1) - before) * 2, sent_on(&p, 2) - other_before);
  EXPECT_EQ(p.state(0), QpState::kRts);
  EXPECT_TRUE(p.arrived(0, 60 * 16384));
  EXPECT_EQ(p.counters(0).qp_errors, 0u);
}

// [MRC-EVS-8] On a host that is short of processors an answer may take longer than the probing interval. It counts all
// the same, and silence is not asked ever so often.
TEST(Paths, a_bad_plane_whose_answers_are_slow_comes_back) {
  Pair p(single_packets());
  const Instant dead = p.fabric.now() + Duration::milliseconds(5);
  p.fabric.net().add_outage({1, -1, dead, dead + Duration::milliseconds(3000)});
  traffic(&p, Duration::milliseconds(25));
  ASSERT_GT(p.counters(0).ev_assumed_bad, 0u);
  traffic(&p, Duration::milliseconds(1000));
  const uint64_t asked = p.counters(0).tx_ev_probes;
  traffic(&p, Duration::milliseconds(1500));
  const int paths = p.fabric.config().evs_per_plane + p.fabric.config().backups_per_plane;
  const auto evs = static_cast<uint64_t>(paths);
  EXPECT_LE(p.counters(0).tx_ev_probes - asked, evs * 3);  // one per EV in 800 ms, and those of the reverse paths
  p.fabric.net().link(1).latency = Duration::milliseconds(40);
  traffic(&p, Duration::milliseconds(3000));
  EXPECT_GE(p.counters(0).ev_recovered, evs);
}

// [MRC-EVS-8] [MRC-EVS-9] Distance is no fault of a path: round trips longer than the probing interval (50 ms) retire
// no plane, neither for data nor for their answers. Where they are much longer that is known once the first probe was
// answered.
TEST(Paths, a_peer_far_away_loses_no_plane) {
  QpAttr attr;
  attr.timeout = 20;  // longer than a round trip before the first sample
  for (const int64_t latency : {20, 25, 50, 90}) {
    Pair p(single_packets(), attr);
    for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).latency = Duration::milliseconds(latency);
    const auto retired = [&] { return p.counters(0).ev_assumed_bad + p.counters(1).ev_assumed_bad; };
    traffic(&p, Duration::milliseconds(1000));
    const uint64_t at_first = retired();
    if (latency <= 50) {
      EXPECT_EQ(at_first, 0u) << latency;
    }
    traffic(&p, Duration::milliseconds(2000));
    EXPECT_EQ(retired(), at_first) << latency;
    for (int node : {0, 1})
      for (const EvStatus& ev : p.fabric.at(node).ev_status(p.fabric.peer(node, 1 - node)))
        EXPECT_EQ(ev.state, EvState::kGood) << latency;
  }
}

// [MRC-EVS-5] One plane of eight is enough, with fewer EVs than the floor of the whole set.
TEST(Paths, the_last_plane_carries_everything) {
  FabricConfig config = single_packets();
  config.planes = 8;
  Pair p(config);
  traffic(&p, Duration::milliseconds(5));
  const Instant dead = p.fabric.now();
  for (int plane = 0; plane < 7; ++plane) p.fabric.net().add_outage({plane, -1, dead, dead + Duration::seconds(10)});
  traffic(&p, Duration::milliseconds(100));
  const size_t written = p.sends().size();
  traffic(&p, Duration::milliseconds(100));
  EXPECT_GT(p.sends().size() - written, 450u);  // of five hundred
  EXPECT_EQ(p.counters(0).plane_suspensions, 7u);
  EXPECT_EQ(p.counters(0).qp_errors, 0u);
}

// [MRC-EVS-20]
TEST(Paths, a_plane_that_loses_half_is_left_until_it_delivers) {
  FabricConfig config = single_packets();
  config.planes = 8;
  Pair p(config);
  constexpr uint32_t kMuch = 131072;
  p.fabric.net().link(1).loss = 0.5;
  traffic(&p, Duration::milliseconds(300), kMuch);
  EXPECT_EQ(p.counters(0).plane_lossy, 1u);
  EXPECT_EQ(p.counters(0).plane_suspensions, 0u);
  const uint64_t before = sent_on(&p, 1), other_before = sent_on(&p, 2);
  traffic(&p, Duration::milliseconds(300), kMuch);
  EXPECT_LT((sent_on(&p, 1) - before) * 20, sent_on(&p, 2) - other_before);  // probes only
  p.fabric.net().link(1).loss = 0;
  traffic(&p, Duration::milliseconds(2000));
  const uint64_t back = sent_on(&p, 1), other_back = sent_on(&p, 2);
  traffic(&p, Duration::milliseconds(100));
  EXPECT_GT((sent_on(&p, 1) - back) * 2, sent_on(&p, 2) - other_back);
}

// Probes that are smaller would all be answered. [MRC-EVS-20]
TEST(Paths, a_plane_that_loses_full_packets_stays_left) {
  Pair p(single_packets());
  traffic(&p, Duration::milliseconds(5));
  Rng rng(7);
  p.fabric.net().set_filter([&](int node, int plane, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    return node == 0 && plane == 1 && bytes.size() > 2000 && rng.below(10) < 7;
  });
  traffic(&p, Duration::milliseconds(3500), 131072);
  EXPECT_EQ(p.counters(0).plane_lossy, 1u);
  EXPECT_LE(p.counters(0).mtu_searches, 2u);  // for the losses, and for the plane that is lossy; not every second
  EXPECT_EQ(p.fabric.at(0).found_path_mtu(p.fabric.now()), UINT32_MAX);
  p.fabric.net().set_filter(nullptr);
  const uint64_t before = sent_on(&p, 1), other_before = sent_on(&p, 2);
  traffic(&p, Duration::milliseconds(2000));
  EXPECT_GT((sent_on(&p, 1) - before) * 2, sent_on(&p, 2) - other_before);
}

TEST(Paths, all_planes_dead_for_a_while) {
  Pair p;
  ASSERT_EQ(p.write(1, 0, 500000), PostResult::kOk);
  p.pass(Duration::microseconds(20));
  const Instant back = p.fabric.now() + Duration::milliseconds(300);
  p.fabric.net().add_outage({-1, -1, p.fabric.now(), back});
  p.pass(back - p.fabric.now());
  EXPECT_TRUE(p.sends().empty());
  ASSERT_TRUE(p.until_sends(1, Duration::seconds(1)));
  EXPECT_TRUE(p.all_ok(1));
  EXPECT_TRUE(p.arrived(0, 500000));
}

// [MRC-EVS-3] SKIP belongs to one QP: its own view shows it, what all QPs share does not.
TEST(Paths, a_marked_ev_is_skip_in_the_view_of_its_qp) {
  Pair p(single_packets());
  p.fabric.net().link(1).ecn_bytes = 1;  // every packet that finds another one in the queue
  ASSERT_EQ(p.write(1, 0, 500000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  size_t skip = 0;
  for (const EvStatus& ev : p.fabric.at(0).ev_status(p.link.qa)) {
    if (ev.state != EvState::kSkip) continue;
    ++skip;
    EXPECT_EQ(ev.plane, 1_plane);
  }
  EXPECT_GT(skip, 0u);
  for (const EvStatus& ev : p.fabric.at(0).ev_status(p.fabric.at(0).qp_status(p.link.qa).peer))
    EXPECT_EQ(ev.state, EvState::kGood);
}

TEST(Paths, a_lossy_ev_leaves_the_active_set) {
  Pair p(single_packets());
  const PeerId peer = p.fabric.peer(0, 1);
  const EvStatus first = p.fabric.at(0).ev_status(peer)[5];
  ASSERT_TRUE(first.active);
  p.fabric.net().set_ev_loss(static_cast<uint16_t>(first.value), 1.0);
  traffic(&p, Duration::milliseconds(100));
  const auto status = p.fabric.at(0).ev_status(peer);
  EXPECT_FALSE(status[5].active);
  EXPECT_EQ(status[5].state, EvState::kAssumedBad);
  size_t active = 0;
  for (const EvStatus& s : status) active += s.active && s.plane == first.plane;
  EXPECT_EQ(active, 8u);  // a backup has taken its place
}

// [MRC-PORT-1]: receivers of a port status update leave the planes at once, and take them back once a probe is
// answered.
TEST(Paths, port_status_moves_the_peer) {
  Pair p(single_packets());
  traffic(&p, Duration::milliseconds(5));
  p.fabric.at(1).set_plane_up(p.fabric.now(), 2_plane, false);
  p.pass(Duration::milliseconds(1));
  const uint64_t before = sent_on(&p, 2);
  traffic(&p, Duration::milliseconds(30));
  EXPECT_EQ(sent_on(&p, 2), before);
  p.fabric.at(1).set_plane_up(p.fabric.now(), 2_plane, true);
  p.pass(Duration::milliseconds(1));
  traffic(&p, Duration::milliseconds(30));
  EXPECT_GT(sent_on(&p, 2), before + 50);
  EXPECT_TRUE(p.fabric.at(1).plane_up(2_plane));
}

// A port status update of an attacker, with the address of node 1 on `plane` as its source.
void forge_port_status(Pair* p, uint8_t plane, uint32_t mask) {
  wire::Flow flow;
  flow.src = p->fabric.describe(1).planes[plane].addr;
  flow.dst = p->fabric.describe(0).planes[plane].addr;
  flow.src_port = 50000;
  flow.dst_port = p->fabric.describe(0).planes[plane].port;
  wire::Bth bth;
  bth.opcode = wire::Opcode::kEndpointRequest;
  bth.dqp = wire::kEndpointQpn;
  wire::Erth erth;
  erth.op = wire::EndpointOp::kPortStatus;
  erth.port_status_mask = mask;
  std::vector<uint8_t> out(64);
  const uint32_t n = wire::encode_endpoint_request(out, bth, erth) + wire::kIcrcBytes;
  out.resize(n);
  wire::icrc_store(&out[n - wire::kIcrcBytes], wire::icrc_compute(flow, {out.data(), n}));
  p->fabric.net().inject(p->fabric.now(), 0, plane, flow, out);
}

// [MRC-PORT-1] [MRC-PORT-5]: with any reports of an attacker about the ports of the peer, and any number of them, the
// traffic stays spread evenly: also where some packets, and so some probes, get lost.
TEST(Paths, forged_port_status_moves_no_traffic) {
  for (const double loss : {0.0, 0.01}) {
    Pair p(single_packets());
    for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = loss;
    traffic(&p, Duration::milliseconds(5));
    uint64_t before[4], total = 0;
    for (uint8_t plane = 0; plane < 4; ++plane) before[plane] = sent_on(&p, plane);
    const Instant end = p.fabric.now() + Duration::seconds(1);
    uint64_t i = 0;
    while (p.fabric.now() < end) {
      // All but the plane that it comes by, every single one, and all up again: 20,000 a second.
      const auto plane = static_cast<uint8_t>(i % 4);
      forge_port_status(&p, plane, 1u << plane);
      forge_port_status(&p, plane, 0xF & ~(1u << (i + 1) % 4));
      forge_port_status(&p, plane, 0xF);
      forge_port_status(&p, 0, 1);
      p.write(i, (i % 60) * 16384, 16384, true);
      ++i;
      p.pass(Duration::microseconds(200));
    }
    for (uint8_t plane = 0; plane < 4; ++plane) total += sent_on(&p, plane) - before[plane];
    for (uint8_t plane = 0; plane < 4; ++plane)
      EXPECT_NEAR(static_cast<double>(sent_on(&p, plane) - before[plane]) / static_cast<double>(total), 0.25, 0.0075)
          << "plane " << int{plane} << ", loss " << loss;
    EXPECT_GT(p.counters(0).port_status_refuted, 3u);
    EXPECT_LT(p.counters(0).port_status_refuted, 40u);
    EXPECT_GT(p.counters(0).port_status_refused, 1000u);
  }
}

// [MRC-EVP-3], [MRC-EVP-4]: the answer has the id and a round trip that the links allow; silence ends in infinity.
TEST(Paths, ev_probe_answers_or_times_out) {
  Pair p;
  const PeerId peer = p.fabric.peer(0, 1);
  p.fabric.net().add_outage({1, -1, p.fabric.now(), Instant::never()});
  ASSERT_TRUE(p.fabric.at(0).start_endpoint_op(p.fabric.now(), peer, 0_ev, 11, false, {}, Duration::milliseconds(10)));
  ASSERT_TRUE(p.fabric.at(0).start_endpoint_op(p.fabric.now(), peer, 1_ev, 12, false, {}, Duration::milliseconds(10)));
  EXPECT_FALSE(p.fabric.at(0).start_endpoint_op(p.fabric.now(), peer, 2_ev, 11, false, {}, Duration::milliseconds(10)));
  p.pass(Duration::milliseconds(20));
  const auto& responses = p.fabric.node(0).responses;
  ASSERT_EQ(responses.size(), 2u);
  EXPECT_EQ(responses[0].id, 11);
  EXPECT_EQ(responses[0].plane, 0_plane);
  EXPECT_GE(responses[0].rtt, Duration::microseconds(10));
  EXPECT_LE(responses[0].rtt, Duration::microseconds(20));
  EXPECT_EQ(responses[1].id, 12);
  EXPECT_EQ(responses[1].plane, 1_plane);
  EXPECT_EQ(responses[1].rtt, Duration::infinite());
}

TEST(Paths, a_denied_ev_carries_nothing_until_allowed) {
  Pair p(single_packets());
  const PeerId peer = p.fabric.peer(0, 1);
  traffic(&p, Duration::milliseconds(5));
  p.fabric.at(0).set_ev_denied(p.fabric.now(), peer, 3_ev, true);
  const uint64_t before = p.fabric.at(0).ev_status(peer)[3].tx_packets;
  EXPECT_GT(before, 0u);
  traffic(&p, Duration::milliseconds(20));
  EXPECT_EQ(p.fabric.at(0).ev_status(peer)[3].tx_packets, before);
  EXPECT_EQ(p.fabric.at(0).ev_status(peer)[3].state, EvState::kDenied);
  p.fabric.at(0).set_ev_denied(p.fabric.now(), peer, 3_ev, false);
  EXPECT_EQ(p.fabric.at(0).ev_status(peer)[3].state, EvState::kGood);
}

}  // namespace
}  // namespace mrc::scenario
