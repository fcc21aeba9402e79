// The remains of destroyed QPs, and the peers that are answered for them. [MRC-RSP-11] [MRC-RSP-13]
#include "core/tombstones.h"

#include "bare_engine.h"

namespace mrc::core {
namespace {

class TombstonesTest : public BareEngine {
 protected:
  TombstonesTest() {
    tombstones_.resize(2);
    peer_ = peers_.intern(bare_peer());
  }
  Tombstone stone(uint32_t qpn, Instant last_request = Instant()) const {
    Tombstone t;
    t.last.qpn = Qpn(qpn);
    t.last.dest_qpn = Qpn(0x202);
    t.last.psn = Psn(7);
    t.peer = peer_;
    t.last_request = last_request;
    return t;
  }
  PeerId peer_;
};

TEST_F(TombstonesTest, one_is_found_by_its_whole_number) {
  tombstones_.put(0, stone(0x101));
  EXPECT_NE(tombstones_.find(now_, 0, Qpn(0x101)), nullptr);
  EXPECT_EQ(tombstones_.find(now_, 0, Qpn(0x10101)), nullptr);
  EXPECT_EQ(tombstones_.find(now_, 1, Qpn(0x101)), nullptr);
  EXPECT_EQ(tombstones_.find(now_, 1, Qpn()), nullptr);  // an empty one belongs to no QP
  EXPECT_EQ(tombstones_.find(now_, UINT32_MAX, Qpn(0x101)), nullptr);
}

TEST_F(TombstonesTest, it_refers_to_its_peer_until_it_is_replaced) {
  tombstones_.put(0, stone(0x101));
  tombstones_.put(1, stone(0x102));
  EXPECT_EQ(tombstones_.count(peer_), 2u);
  EXPECT_EQ(peers_.find(peer_)->refs.tombstones, 2u);
  peers_.release(peer_);
  EXPECT_TRUE(peers_.find(peer_)->left());
  tombstones_.put(0, stone(0x103));  // of the same peer, which must not be destroyed in between
  ASSERT_NE(peers_.find(peer_), nullptr);
  EXPECT_EQ(peers_.find(peer_)->refs.tombstones, 2u);
  tombstones_.put(0, Tombstone());
  tombstones_.put(1, Tombstone());
  EXPECT_EQ(peers_.find(peer_), nullptr);
}

TEST_F(TombstonesTest, an_answer_repeats_the_last_ack_and_none_follows_at_once) {
  tombstones_.put(0, stone(0x101));
  tombstones_.answer(now_, tombstones_.find(now_, 0, Qpn(0x101)));
  const auto sent = queued();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, wire::Opcode::kAck);
  EXPECT_EQ(sent[0].bth.dqp, Qpn(0x202));
  EXPECT_EQ(sent[0].bth.psn, Psn(7));
  const Duration pause = engine_.config.ack_delay;
  EXPECT_EQ(tombstones_.find(now_ + pause - Duration::nanoseconds(1), 0, Qpn(0x101)), nullptr);
  EXPECT_NE(tombstones_.find(now_ + pause, 0, Qpn(0x101)), nullptr);
}

TEST_F(TombstonesTest, repeat__answers_the_requests_since_that_time) {
  tombstones_.put(0, stone(0x101, Instant::from_ns(100)));
  tombstones_.put(1, stone(0x102, Instant::from_ns(200)));
  tombstones_.repeat(now_, Instant::from_ns(201));
  EXPECT_TRUE(queued().empty());
  tombstones_.repeat(now_, Instant::from_ns(200));
  EXPECT_EQ(queued().size(), 1u);
  tombstones_.repeat(now_, Instant::from_ns(100));
  EXPECT_EQ(queued().size(), 2u);
}

TEST_F(TombstonesTest, only_a_qp_that_has_received_leaves_one) {
  Qp* const qp = add_qp(0x101);
  qps_.set_peer(qp, peer_);
  qp->responder.start();
  qp->state = QpState::kRtr;
  wire::Packet p;
  p.bth.opcode = wire::Opcode::kWriteOnly;
  p.bth.psn = qp->attr.rq_psn;
  p.meth.msn = 0;
  Qp* const silent = add_qp(0x102);
  qps_.set_peer(silent, peer_);
  EXPECT_TRUE(qp->responder.on_request(now_, wire::Flow(), p, 32));
  qps_.destroy(qp);
  qps_.destroy(silent);
  EXPECT_EQ(tombstones_.count(peer_), 1u);
  EXPECT_NE(tombstones_.find(now_, qps_.slot_of(Qpn(0x101)), Qpn(0x101)), nullptr);
  ASSERT_NE(add_qp(0x101), nullptr);  // the number is used again
  EXPECT_EQ(tombstones_.count(peer_), 0u);
}

}  // namespace
}  // namespace mrc::core
