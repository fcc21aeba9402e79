// Peers whose planes are queried over plane 1 [MRC-EXT-1..7]. Node 0 learns; node 1 does too, or is configured.
#include <map>
#include <tuple>

#include "scenario/pair.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::scenario {
namespace {

bool is_opcode(const std::vector<uint8_t>& bytes, wire::Opcode op) {
  return !bytes.empty() && bytes[0] == static_cast<uint8_t>(op);
}

bool is_answer_from(int node, int from, const std::vector<uint8_t>& bytes) {
  return from == node && is_opcode(bytes, wire::Opcode::kPlaneResponse);
}

// A pair whose ends know of each other plane 0 only; with second_knows, node 1 has node 0's addresses configured.
struct Learners {
  explicit Learners(
      const std::function<void(Fabric*)>& prepare = [](Fabric*) {}, bool second_knows = false)
      : source(1 << 20), target(1 << 20) {
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>((i * 2654435761u) >> 13);
    lkey = fabric.register_memory(0, source);
    rkey = fabric.register_memory(1, target);
    prepare(&fabric);
    qps[0] = fabric.make_qp(0);
    qps[1] = fabric.make_qp(1);
    for (int n = 0; n < 2; ++n) {
      peers[n] = fabric.at(n).intern_peer(n == 1 && second_knows ? fabric.describe(0) : first_plane_of(1 - n));
      QpAttr attr;
      attr.peer = peers[n];
      attr.dest_qpn = fabric.at(1 - n).qp_status(qps[1 - n]).qpn;
      attr.access = kAccessLocalWrite | kAccessRemoteWrite;
      for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts}) EXPECT_TRUE(fabric.to_state(n, qps[n], s, attr));
    }
  }
  PeerDescription first_plane_of(int node) const {
    PeerDescription d = fabric.describe(node);
    for (size_t p = 1; p < d.planes.size(); ++p) d.planes[p] = PlaneAddress();
    d.learn = true;
    return d;
  }
  void pass(Duration time) {
    fabric.net().inject(fabric.now() + time, 0, 0, wire::Flow(), {0});
    fabric.run_for(time);
  }
  // Writes the buffer `times` times; true when all of it succeeded and is right.
  bool transfer(int times = 1) {
    const size_t before = fabric.node(0).sends.size();
    std::fill(target.begin(), target.end(), kFill);
    for (int i = 0; i < times; ++i)
      EXPECT_EQ(fabric.write(0, qps[0], 1, source.data(), 1 << 20, lkey, target.data(), rkey), PostResult::kOk);
    const auto& sends = fabric.node(0).sends;
    const size_t wanted = before + static_cast<size_t>(times);
    return fabric.run_until([&] { return sends.size() >= wanted; }, Duration::seconds(20)) &&
           sends.back().status == WcStatus::kSuccess && source == target;
  }
  uint64_t sent_on(uint8_t plane) { return fabric.at(0).plane_counters(PlaneId(plane)).tx_packets; }
  void expect_calm() {
    for (int n = 0; n < 2; ++n) {
      EXPECT_EQ(counters(n).drop_source, 0u);
      EXPECT_EQ(counters(n).drop_source_port, 0u);
      EXPECT_EQ(counters(n).plane_suspensions, 0u);
    }
  }
  int planes_in_use() {
    int n = 0;
    for (uint8_t p = 0; p < 4; ++p) n += sent_on(p) > 0;
    return n;
  }
  const Counters& counters(int node) { return fabric.at(node).counters(); }

  Fabric fabric{FabricConfig()};
  std::vector<uint8_t> source, target;
  Key lkey, rkey;
  Qp* qps[2] = {};
  PeerId peers[2] = {};
};

// Both query at once, when neither has learned the other yet: the first answers are not ready, the second are.
TEST(Learn, all_planes_are_used_once_they_are_known) {
  Learners l;
  l.pass(Duration::milliseconds(10));
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(l.counters(n).tx_plane_requests, 6u);
    EXPECT_EQ(l.counters(n).rx_plane_requests, 6u);
    EXPECT_EQ(l.counters(n).planes_learnt, 3u);
  }
  EXPECT_TRUE(l.transfer(4));
  for (uint8_t p = 0; p < 4; ++p) EXPECT_GT(l.sent_on(p), 100u) << int{p};
  l.expect_calm();
  l.pass(Duration::seconds(3));
  EXPECT_EQ(l.counters(0).tx_plane_requests, 6u);  // settled queries are not repeated
}

TEST(Learn, a_peer_that_knows_us_is_ready_at_once) {
  Learners l([](Fabric*) {}, true);
  l.pass(Duration::milliseconds(1));
  EXPECT_EQ(l.counters(0).tx_plane_requests, 3u);
  EXPECT_EQ(l.counters(0).planes_learnt, 3u);
  EXPECT_EQ(l.counters(1).tx_plane_requests, 0u);
  EXPECT_TRUE(l.transfer(4));
  for (uint8_t p = 0; p < 4; ++p) EXPECT_GT(l.sent_on(p), 100u) << int{p};
  EXPECT_EQ(l.counters(1).drop_source, 0u);
  EXPECT_EQ(l.counters(1).plane_suspensions, 0u);
}

// While node 1 receives no answers it has not learned our addresses: no packet is sent that would be dropped.
TEST(Learn, nothing_is_sent_where_the_peer_would_drop_it) {
  Learners l([](Fabric* f) {
    f->net().set_filter([](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      return is_answer_from(node, 0, bytes);
    });
  });
  l.pass(Duration::milliseconds(50));
  EXPECT_EQ(l.counters(0).planes_learnt, 3u);
  EXPECT_TRUE(l.transfer(2));
  EXPECT_EQ(l.planes_in_use(), 1);
  l.expect_calm();
  l.fabric.net().clear_faults();
  l.pass(Duration::seconds(1));
  EXPECT_TRUE(l.transfer(4));
  EXPECT_EQ(l.planes_in_use(), 4);
  l.expect_calm();
}

// Node 0 has given up long before the other end is there; the other end's query wakes it.
TEST(Learn, a_question_from_the_peer_opens_ours_again) {
  Learners l([](Fabric* f) {
    f->net().set_filter([](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      return node == 1 ? is_opcode(bytes, wire::Opcode::kPlaneRequest) : is_answer_from(node, 0, bytes);
    });
  });
  l.pass(Duration::seconds(20));
  EXPECT_EQ(l.counters(0).tx_plane_requests, 36u);
  l.fabric.net().clear_faults();
  QpAttr attr;
  attr.peer = l.peers[1];
  attr.dest_qpn = Qpn(0x999);
  Qp* qp = l.fabric.make_qp(1);
  EXPECT_TRUE(l.fabric.to_state(1, qp, QpState::kInit, attr));
  EXPECT_TRUE(l.fabric.to_state(1, qp, QpState::kRtr, attr));
  l.pass(Duration::milliseconds(20));
  EXPECT_TRUE(l.transfer(4));
  EXPECT_EQ(l.planes_in_use(), 4);
  l.expect_calm();
}

// Every query and every answer about every plane is lost twice before one gets through.
TEST(Learn, lost_questions_and_answers_are_repeated) {
  std::map<std::tuple<int, uint8_t, uint8_t>, int> sent;
  Learners l([&](Fabric* f) {
    f->net().set_filter([&](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      const bool ours = is_opcode(bytes, wire::Opcode::kPlaneRequest) || is_opcode(bytes, wire::Opcode::kPlaneResponse);
      return ours && ++sent[{node, bytes[0], wire::header_at<wire::Plth>(bytes, wire::Bth::kSize).plane}] <= 2;
    });
  });
  EXPECT_TRUE(l.transfer());  // plane 0 works from the start
  l.pass(Duration::seconds(5));
  EXPECT_EQ(l.counters(0).planes_learnt, 3u);
  EXPECT_GE(l.counters(0).tx_plane_requests, 15u);  // of each plane two get lost, two lead to lost answers
  EXPECT_TRUE(l.transfer(4));
  EXPECT_EQ(l.planes_in_use(), 4);
}

TEST(Learn, a_peer_without_the_extension_is_reached_over_plane_one_alone) {
  Learners l([](Fabric* f) {
    f->net().set_filter([](int, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      return is_opcode(bytes, wire::Opcode::kPlaneRequest);
    });
  });
  l.pass(Duration::seconds(20));
  EXPECT_EQ(l.counters(0).tx_plane_requests, 36u);  // 12 times three, then silence
  EXPECT_EQ(l.counters(0).planes_learnt, 0u);
  EXPECT_TRUE(l.transfer(2));
  EXPECT_EQ(l.planes_in_use(), 1);
  EXPECT_EQ(l.counters(0).qp_errors, 0u);
}

// [MRC-EXT-9]: it refuses requests with an SPTH and answers the others.
TEST(Learn, older_software_tells_its_planes_and_no_source_ports) {
  Learners l([](Fabric* f) {
    f->net().set_filter([](int, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      return is_opcode(bytes, wire::Opcode::kPlaneRequest) && bytes.size() > 52;
    });
  });
  l.pass(Duration::seconds(10));
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(l.counters(n).planes_learnt, 3u);
    EXPECT_EQ(l.counters(n).tx_port_requests, 13u);  // one more by a query of the peer
    EXPECT_EQ(l.counters(n).port_sets_learnt, 0u);
  }
  EXPECT_TRUE(l.transfer(4));
  EXPECT_EQ(l.planes_in_use(), 4);
  for (int n = 0; n < 2; ++n) EXPECT_EQ(l.counters(n).drop_source_port, 0u);
}

TEST(Learn, a_later_qp_asks_again) {
  Learners l([](Fabric* f) {
    f->net().set_filter([](int, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      return is_opcode(bytes, wire::Opcode::kPlaneRequest);
    });
  });
  l.pass(Duration::seconds(20));
  l.fabric.net().clear_faults();
  for (int n = 0; n < 2; ++n) {
    QpAttr attr;
    attr.peer = l.peers[n];
    attr.dest_qpn = Qpn(0x999);
    Qp* qp = l.fabric.make_qp(n);
    EXPECT_TRUE(l.fabric.to_state(n, qp, QpState::kInit, attr));
    EXPECT_TRUE(l.fabric.to_state(n, qp, QpState::kRtr, attr));
  }
  l.pass(Duration::milliseconds(10));
  EXPECT_EQ(l.counters(0).planes_learnt, 3u);
  EXPECT_TRUE(l.transfer(4));
  EXPECT_EQ(l.planes_in_use(), 4);
}

TEST(Learn, a_learnt_plane_that_dies_is_left) {
  Learners l;
  l.pass(Duration::milliseconds(10));
  EXPECT_TRUE(l.transfer());
  l.fabric.net().add_outage({2, -1, l.fabric.now(), Instant::never()});
  EXPECT_TRUE(l.transfer(8));
  const uint64_t on_dead = l.sent_on(2), on_other = l.sent_on(1);
  EXPECT_TRUE(l.transfer(8));
  EXPECT_LT((l.sent_on(2) - on_dead) * 4, l.sent_on(1) - on_other);
}

// Messages of an attacker; each differs from a true answer in one way.
TEST(Learn, forged_answers_change_nothing) {
  uint64_t nonce = 0;
  Learners l([&](Fabric* f) {
    f->net().set_filter([&](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      if (!is_opcode(bytes, wire::Opcode::kPlaneRequest)) return false;
      const wire::Plth asked = wire::header_at<wire::Plth>(bytes, wire::Bth::kSize);
      if (node == 0 && !asked.ports) nonce = asked.nonce;
      return true;
    });
  });
  l.pass(Duration::milliseconds(1));
  ASSERT_NE(nonce, 0u);
  const PeerDescription own = l.fabric.describe(0), peer = l.fabric.describe(1);
  const auto send = [&](const IpAddress& from, const wire::Plth& told) {
    wire::Flow flow;
    flow.src = from;
    flow.dst = own.planes[0].addr;
    flow.src_port = 50000;
    flow.dst_port = own.planes[0].port;
    std::vector<uint8_t> bytes(64);
    wire::Bth bth;
    bth.dqp = wire::kEndpointQpn;
    bytes.resize(wire::encode_plane_response(bytes, bth, told) + wire::kIcrcBytes);
    const auto n = static_cast<uint32_t>(bytes.size());
    wire::icrc_store(&bytes[n - wire::kIcrcBytes], wire::icrc_compute(flow, {bytes.data(), n}));
    l.fabric.net().inject(l.fabric.now(), 0, 0, flow, bytes);
    l.pass(Duration::microseconds(10));
  };
  wire::Plth good;
  good.plane = 1;
  good.planes = 4;
  good.nonce = nonce;
  good.addr = peer.planes[1].addr;
  good.port = peer.planes[1].port;
  good.ready = true;
  const IpAddress group = IpAddress::parse("ff02::1").value(), foreign = IpAddress::parse("2001:db8::bad").value();
  std::vector<wire::Plth> forged(9, good);
  forged[0].nonce ^= 1;
  forged[1].version = 2;
  forged[2].plane = 0;
  forged[3].plane = 200;
  forged[4].addr = IpAddress();
  forged[5].addr = own.planes[1].addr.is_v4() ? group : IpAddress::v4(10, 0, 0, 9);
  forged[6].addr = own.planes[1].addr.is_v4() ? IpAddress::v4(224, 0, 0, 1) : group;
  forged[7].port = 0;
  forged[8].plane = 4;  // more planes than we have
  for (const wire::Plth& told : forged) send(peer.planes[0].addr, told);
  send(foreign, good);
  EXPECT_EQ(l.counters(0).planes_learnt, 0u);
  EXPECT_EQ(l.counters(0).drop_stale, 10u);
  send(peer.planes[0].addr, good);
  EXPECT_EQ(l.counters(0).planes_learnt, 1u);
  send(peer.planes[0].addr, good);  // once only
  EXPECT_EQ(l.counters(0).drop_stale, 11u);
}

}  // namespace
}  // namespace mrc::scenario
