// Questions about planes and source ports, and their answers, without an endpoint. [MRC-EXT-1..11]
#include "core/plane_discovery.h"

#include <array>

#include "bare_engine.h"

namespace mrc::core {
namespace {

class PlaneDiscoveryTest : public BareEngine {
 protected:
  PlaneDiscoveryTest() : peer_(intern(true)) {}
  explicit PlaneDiscoveryTest(const EndpointConfig& c) : BareEngine(c), peer_(intern(true)) {}
  // Only plane 0 is given.
  Peer* intern(bool learn) {
    PeerDescription d = bare_peer();
    d.planes[1] = PlaneAddress();
    d.learn = learn;
    return peers_.find(peers_.intern(d));
  }
  wire::Packet make_answer(const wire::Packet& asked, bool ready) const {
    wire::Packet p;
    p.bth.opcode = wire::Opcode::kPlaneResponse;
    p.plth = wire::Plth();
    p.plth.plane = asked.plth.plane;
    p.plth.planes = 2;
    p.plth.nonce = asked.plth.nonce;
    p.plth.addr = bare_peer().planes[1].addr;
    p.plth.port = 4791;
    p.plth.ready = ready;
    return p;
  }
  wire::Packet make_lacking_answer(const wire::Packet& asked) const {
    wire::Packet p = make_answer(asked, true);
    p.plth.addr = IpAddress();
    p.plth.planes = 1;
    return p;
  }
  static wire::Flow from(const IpAddress& addr) {
    wire::Flow f;
    f.src = addr;
    return f;
  }
  // Questions for planes, or for source ports, among what waits.
  std::vector<wire::Packet> asked(bool ports) {
    std::vector<wire::Packet> all;
    for (const wire::Packet& p : queued())
      if (p.bth.opcode == wire::Opcode::kPlaneRequest && p.plth.ports == ports) all.push_back(p);
    return all;
  }
  Peer* peer_;
};

TEST_F(PlaneDiscoveryTest, every_plane_beyond_the_first_is_asked_for) {
  discovery_.on_qp_up(now_, peer_);
  const auto queries = asked(false);
  ASSERT_EQ(queries.size(), 1u);
  EXPECT_EQ(queries[0].plth.plane, 1);
  EXPECT_EQ(queries[0].plth.addr, engine_.config.planes[1].addr);
  EXPECT_EQ(engine_.counters.tx_plane_requests, 1u);
  EXPECT_EQ(discovery_.timer()->deadline, now_ + PendingQuery::kFirstPause);
}

TEST_F(PlaneDiscoveryTest, a_peer_that_is_described_in_full_is_not_asked_for_planes) {
  discovery_.on_qp_up(now_, peers_.find(peers_.intern(bare_peer(9))));
  EXPECT_TRUE(asked(false).empty());
}

TEST_F(PlaneDiscoveryTest, another_qp_asks_again_when_the_question_is_not_fresh) {
  discovery_.on_qp_up(now_, peer_);
  queued();
  discovery_.on_qp_up(now_ + PendingQuery::kFresh - Duration::nanoseconds(1), peer_);
  EXPECT_TRUE(asked(false).empty());
  discovery_.on_qp_up(now_ + PendingQuery::kFresh, peer_);
  EXPECT_EQ(asked(false).size(), 1u);
}

TEST_F(PlaneDiscoveryTest, an_answer_is_used_when_the_peer_accepts_our_packets) {
  discovery_.on_qp_up(now_, peer_);
  const wire::Packet query = asked(false)[0];
  const wire::Flow flow = from(bare_peer().planes[0].addr);
  discovery_.on_response(now_, flow, make_answer(query, false));
  EXPECT_EQ(peer_->description.planes[1].addr, bare_peer().planes[1].addr);
  EXPECT_FALSE(peer_->paths.plane_usable(1_plane));
  EXPECT_EQ(engine_.counters.planes_learnt, 1u);
  discovery_.on_response(now_, flow, make_answer(query, true));
  EXPECT_TRUE(peer_->paths.plane_usable(1_plane));
  discovery_.on_response(now_, flow, make_answer(query, true));  // it is settled
  EXPECT_EQ(engine_.counters.drop_stale, 1u);
}

// An answer with an address is enough for a probe, whether the peer accepts our packets or not.
TEST_F(PlaneDiscoveryTest, awaits_address__until_the_peer_says_it) {
  EXPECT_FALSE(discovery_.awaits_address(now_, peers_.find(peers_.intern(bare_peer(9))), 1_plane));
  EXPECT_TRUE(discovery_.awaits_address(now_, peer_, 1_plane));
  EXPECT_TRUE(discovery_.awaits_address(now_, peer_, 1_plane));
  EXPECT_FALSE(discovery_.awaits_address(now_, peer_, 0_plane));
  const auto queries = asked(false);
  ASSERT_EQ(queries.size(), 1u);
  discovery_.on_response(now_, from(bare_peer().planes[0].addr), make_answer(queries[0], false));
  EXPECT_FALSE(discovery_.awaits_address(now_, peer_, 1_plane));
}

TEST_F(PlaneDiscoveryTest, awaits_address__nothing_of_a_plane_that_the_peer_lacks) {
  EXPECT_TRUE(discovery_.awaits_address(now_, peer_, 1_plane));
  discovery_.on_response(now_, from(bare_peer().planes[0].addr), make_lacking_answer(asked(false)[0]));
  EXPECT_FALSE(discovery_.awaits_address(now_, peer_, 1_plane));
}

TEST_F(PlaneDiscoveryTest, an_answer_of_another_address_or_nonce_is_dropped) {
  discovery_.on_qp_up(now_, peer_);
  wire::Packet answer = make_answer(asked(false)[0], true);
  discovery_.on_response(now_, from(bare_peer(3).planes[0].addr), answer);
  EXPECT_EQ(engine_.counters.drop_stale, 1u);
  answer.plth.nonce ^= 1;
  discovery_.on_response(now_, from(bare_peer().planes[0].addr), answer);
  EXPECT_EQ(engine_.counters.drop_stale, 2u);
  EXPECT_TRUE(peer_->description.planes[1].addr.is_zero());
}

TEST_F(PlaneDiscoveryTest, questions_are_repeated_until_the_tries_are_used_up) {
  discovery_.on_qp_up(now_, peer_);
  size_t queries = asked(false).size();
  while (discovery_.timer()->deadline < Instant::never()) {
    now_ = discovery_.timer()->deadline;
    discovery_.on_timer(now_);
    queries += asked(false).size();
  }
  EXPECT_EQ(queries, size_t{PendingQuery::kMaxTries});
}

TEST_F(PlaneDiscoveryTest, a_request_of_an_unknown_source_is_answered) {
  wire::Packet ask;
  ask.bth.opcode = wire::Opcode::kPlaneRequest;
  ask.plth = wire::Plth();
  ask.plth.plane = 1;
  ask.plth.nonce = 77;
  ask.payload_len = 0;
  discovery_.on_request(now_, from(IpAddress::v4(10, 0, 0, 99)), 0_plane, ask);
  const auto answers = queued();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].bth.opcode, wire::Opcode::kPlaneResponse);
  EXPECT_EQ(answers[0].plth.nonce, 77u);
  EXPECT_EQ(answers[0].plth.addr, engine_.config.planes[1].addr);
  EXPECT_FALSE(answers[0].plth.ready);  // its address is not known here
}

// [MRC-EXT-8]: an unknown source has to guess them.
TEST_F(PlaneDiscoveryTest, source_ports_are_told_to_peers_alone) {
  const std::array<uint8_t, wire::Spth::kSize> from_the_first{};
  wire::Packet ask;
  ask.bth.opcode = wire::Opcode::kPlaneRequest;
  ask.plth = wire::Plth();
  ask.plth.ports = true;
  ask.payload = from_the_first.data();
  ask.payload_len = from_the_first.size();
  discovery_.on_request(now_, from(IpAddress::v4(10, 0, 0, 99)), 0_plane, ask);
  EXPECT_TRUE(queued().empty());
  EXPECT_EQ(engine_.counters.drop_replies, 1u);
  discovery_.on_request(now_, from(bare_peer().planes[0].addr), 0_plane, ask);
  const auto answers = queued();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].bth.opcode, wire::Opcode::kPlaneResponse);
  EXPECT_TRUE(answers[0].plth.ports);
  EXPECT_EQ(engine_.counters.drop_replies, 1u);
}

class PlaneDiscoveryWithoutAddress : public PlaneDiscoveryTest {
 protected:
  static EndpointConfig without_address() {
    EndpointConfig c = bare_config();
    c.planes[1].addr = IpAddress();
    return c;
  }
  PlaneDiscoveryWithoutAddress() : PlaneDiscoveryTest(without_address()) {}
};

// [MRC-EXT-12]
TEST_F(PlaneDiscoveryWithoutAddress, an_address_that_comes_is_told_by_another_question) {
  discovery_.on_own_address(now_);
  EXPECT_TRUE(asked(false).empty());  // no question was asked yet
  discovery_.on_qp_up(now_, peer_);
  const wire::Packet before = asked(false).at(0);
  EXPECT_TRUE(before.plth.addr.is_zero());
  engine_.config.planes[1].addr = bare_config().planes[1].addr;
  discovery_.on_own_address(now_ + Duration::milliseconds(1));
  const wire::Packet after = asked(false).at(0);
  EXPECT_EQ(after.plth.addr, bare_config().planes[1].addr);
  EXPECT_NE(after.plth.nonce, before.plth.nonce);
}

// [MRC-EXT-12]
TEST_F(PlaneDiscoveryTest, a_plane_that_the_peer_lacked_is_asked_for_again_when_the_peer_sends_its_address) {
  discovery_.on_qp_up(now_, peer_);
  const wire::Flow flow = from(bare_peer().planes[0].addr);
  discovery_.on_response(now_, flow, make_lacking_answer(asked(false).at(0)));
  EXPECT_TRUE(peer_->plane_query.open.empty());
  wire::Packet ask;
  ask.bth.opcode = wire::Opcode::kPlaneRequest;
  ask.plth = wire::Plth();
  ask.plth.plane = 1;
  ask.plth.planes = 2;
  ask.plth.nonce = 77;
  ask.payload_len = 0;
  now_ = now_ + Duration::seconds(100);
  discovery_.on_request(now_, flow, 0_plane, ask);  // without an address it says nothing new
  EXPECT_TRUE(peer_->plane_query.open.empty());
  ask.plth.addr = bare_peer().planes[1].addr;
  discovery_.on_request(now_, from(bare_peer(3).planes[0].addr), 0_plane, ask);  // another host
  EXPECT_TRUE(peer_->plane_query.open.empty());
  discovery_.on_request(now_, flow, 0_plane, ask);
  EXPECT_EQ(peer_->plane_query.open, 0b10_planes);
  queued();
  discovery_.on_timer(now_);
  const wire::Packet again = asked(false).at(0);
  discovery_.on_response(now_, flow, make_answer(again, true));
  EXPECT_TRUE(peer_->paths.plane_usable(1_plane));
}

// Forged requests do not make it ask faster than every 5 ms. [MRC-EXT-12]
TEST_F(PlaneDiscoveryTest, requests_with_addresses_do_not_hasten_the_questions) {
  discovery_.on_qp_up(now_, peer_);
  const wire::Flow flow = from(bare_peer().planes[0].addr);
  const Instant end = now_ + Duration::milliseconds(50);
  size_t questions = 0;
  for (uint64_t nonce = 1; now_ < end; now_ = now_ + Duration::microseconds(100), ++nonce) {
    wire::Packet ask;
    ask.bth.opcode = wire::Opcode::kPlaneRequest;
    ask.plth = wire::Plth();
    ask.plth.plane = 1;
    ask.plth.nonce = nonce;
    ask.plth.addr = bare_peer().planes[1].addr;
    ask.payload_len = 0;
    discovery_.on_request(now_, flow, 0_plane, ask);
    if (discovery_.timer()->deadline <= now_) discovery_.on_timer(now_);
    for (const wire::Packet& question : asked(false)) {
      ++questions;
      discovery_.on_response(now_, flow, make_lacking_answer(question));
    }
  }
  EXPECT_GE(questions, 9u);
  EXPECT_LE(questions, 11u);
}

// [MRC-SEC-9]
TEST_F(PlaneDiscoveryTest, a_packet_from_another_port_opens_the_question_again_now_and_then) {
  discovery_.on_qp_up(now_, peer_);
  EXPECT_EQ(asked(true).size(), 1u);
  peer_->port_query.open = false;  // answered
  discovery_.on_foreign_port(now_ + Duration::milliseconds(99), peer_);
  EXPECT_TRUE(asked(true).empty());
  discovery_.on_foreign_port(now_ + Duration::milliseconds(100), peer_);
  EXPECT_EQ(asked(true).size(), 1u);
  EXPECT_EQ(engine_.counters.drop_source_port, 2u);
}

}  // namespace
}  // namespace mrc::core
