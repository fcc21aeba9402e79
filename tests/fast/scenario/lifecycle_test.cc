// Queue pairs that begin late, fail, are used again, or go while their peer is still at work.
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

// The attributes that `from` needs to reach `other` on node `to`.
QpAttr towards(Pair* p, int from, int to, Qp* other) {
  QpAttr attr;
  attr.access = 3;
  attr.peer = p->fabric.peer(from, to);
  attr.dest_qpn = p->fabric.at(to).qp_status(other).qpn;
  return attr;
}

void to_rts(Pair* p, int node, Qp* qp, const QpAttr& attr, QpState last = QpState::kRts) {
  for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    ASSERT_TRUE(p->fabric.to_state(node, qp, s, attr));
    if (s == last) return;
  }
}

// spec/clients.md rule 3: packets reach a QP in INIT. They are dropped in silence and sent again within milliseconds.
TEST(Lifecycle, a_peer_still_in_init_is_served_soon_after_rts) {
  Pair p;
  Qp* a = p.fabric.make_qp(0);
  Qp* b = p.fabric.make_qp(1);
  const QpAttr ab = towards(&p, 0, 1, b), ba = towards(&p, 1, 0, a);
  to_rts(&p, 0, a, ab);
  to_rts(&p, 1, b, ba, QpState::kInit);
  ASSERT_EQ(p.fabric.write(0, a, 1, p.source.data(), 20000, p.lkey, p.target.data(), p.rkey), PostResult::kOk);
  p.pass(Duration::milliseconds(100));
  EXPECT_TRUE(p.untouched(0, 20000));
  EXPECT_GT(p.counters(1).drop_state, 0u);
  EXPECT_EQ(p.counters(1).tx_acks + p.counters(1).tx_sacks + p.counters(1).tx_nacks, 0u);
  ASSERT_TRUE(p.fabric.to_state(1, b, QpState::kRtr, ba));
  ASSERT_TRUE(p.fabric.to_state(1, b, QpState::kRts, ba));
  EXPECT_TRUE(p.until_sends(1, Duration::milliseconds(50)));
  EXPECT_TRUE(p.arrived(0, 20000));
}

TEST(Lifecycle, error_flushes_in_posting_order) {
  Pair p;
  p.fabric.net().add_outage({-1, -1, p.fabric.now(), Instant::never()});
  p.fabric.post_receives(0, p.link.qa, 50, 5);
  for (uint64_t i = 0; i < 20; ++i) ASSERT_EQ(p.write(i, i * 1000, 1000, i % 2 == 0), PostResult::kOk);
  p.pass(Duration::milliseconds(1));
  ASSERT_TRUE(p.fabric.to_state(0, p.link.qa, QpState::kError, {}));
  ASSERT_EQ(p.sends().size(), 20u);
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(p.sends()[i].wr_id, i);
    EXPECT_EQ(p.sends()[i].status, WcStatus::kFlushed);
  }
  const auto& receives = p.fabric.node(0).receives;
  ASSERT_EQ(receives.size(), 5u);
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(receives[i].wr_id, 50 + i);
    EXPECT_EQ(receives[i].status, WcStatus::kFlushed);
  }
  ASSERT_EQ(p.write(99, 0, 10), PostResult::kOk);  // posting goes on, and is flushed at once
  EXPECT_EQ(p.sends().back().wr_id, 99u);
  EXPECT_EQ(p.sends().back().status, WcStatus::kFlushed);
}

TEST(Lifecycle, reset_queue_pairs_work_again) {
  Pair p;
  ASSERT_EQ(p.write(1, 0, 100000), PostResult::kOk);
  p.pass(Duration::microseconds(3));
  ASSERT_TRUE(p.fabric.to_state(0, p.link.qa, QpState::kError, {}));
  ASSERT_EQ(p.sends().size(), 1u);
  ASSERT_TRUE(p.fabric.to_state(0, p.link.qa, QpState::kReset, {}));
  ASSERT_TRUE(p.fabric.to_state(1, p.link.qb, QpState::kReset, {}));
  EXPECT_EQ(p.fabric.write(0, p.link.qa, 2, p.source.data(), 1, p.lkey, p.target.data(), p.rkey),
            PostResult::kBadState);
  p.pass(Duration::milliseconds(10));  // the packets in flight have arrived
  QpAttr ab = towards(&p, 0, 1, p.link.qb), ba = towards(&p, 1, 0, p.link.qa);
  ab.sq_psn = ba.rq_psn = Psn(500000);
  to_rts(&p, 1, p.link.qb, ba);
  to_rts(&p, 0, p.link.qa, ab);
  ASSERT_EQ(p.write(3, 200000, 100000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(2));
  EXPECT_EQ(p.sends()[1].wr_id, 3u);
  EXPECT_EQ(p.sends()[1].status, WcStatus::kSuccess);
  EXPECT_TRUE(p.arrived(200000, 100000));
}

TEST(Lifecycle, destroy_with_traffic_under_way_leaves_others_alone) {
  Pair p;
  const Link other = p.fabric.connect(0, 1);
  for (uint64_t i = 0; i < 20; ++i) ASSERT_EQ(p.write(i, i * 10000, 10000), PostResult::kOk);
  for (uint64_t i = 0; i < 20; ++i)
    ASSERT_EQ(p.fabric.write(0, other.qa, 100 + i, &p.source[500000 + i * 10000], 10000, p.lkey,
                             &p.target[500000 + i * 10000], p.rkey),
              PostResult::kOk);
  p.pass(Duration::microseconds(7));
  p.fabric.at(0).destroy_qp(p.link.qa);
  p.pass(Duration::microseconds(7));
  p.fabric.at(1).destroy_qp(p.link.qb);
  p.pass(Duration::milliseconds(50));
  size_t done = 0;
  for (const Completion& c : p.sends()) {
    if (c.wr_id < 100) continue;
    ++done;
    EXPECT_EQ(c.status, WcStatus::kSuccess);
  }
  EXPECT_EQ(done, 20u);
  EXPECT_TRUE(p.arrived(500000, 200000));
}

// spec/clients.md rule 2: a server destroys its QP right after its last receive completion; something answers all the
// same.
TEST(Lifecycle, a_destroyed_responder_still_acknowledges) {
  Pair p;
  p.fabric.post_receives(1, p.link.qb, 1, 1);
  p.fabric.net().add_outage({-1, 1, p.fabric.now(), p.fabric.now() + Duration::milliseconds(3)});  // its ACKs are lost
  ASSERT_EQ(p.write_imm(1, 0, 10000, 5), PostResult::kOk);
  ASSERT_TRUE(p.until_receives(1));
  EXPECT_TRUE(p.sends().empty());
  p.fabric.at(1).destroy_qp(p.link.qb);
  ASSERT_TRUE(p.until_sends(1, Duration::seconds(1)));
  EXPECT_TRUE(p.all_ok(1));
}

// [MRC-RSP-13] The ACK is lost, and the sender cannot solicit it: the ending process retransmits it unsolicited.
TEST(Lifecycle, an_ending_process_repeats_its_last_acks) {
  for (bool destroyed : {false, true}) {
    Pair p;
    const Instant begin = p.fabric.now();
    p.fabric.post_receives(1, p.link.qb, 1, 1);
    p.fabric.net().add_outage({-1, 1, begin, begin + Duration::milliseconds(3)});
    ASSERT_EQ(p.write_imm(1, 0, 10000, 5), PostResult::kOk);
    ASSERT_TRUE(p.until_receives(1));
    p.fabric.net().add_outage({-1, 0, p.fabric.now(), begin + Duration::seconds(1)});
    if (destroyed) p.fabric.at(1).destroy_qp(p.link.qb);
    p.pass(Duration::milliseconds(5));
    EXPECT_TRUE(p.sends().empty());
    const uint64_t before = p.counters(1).tx_acks;
    p.fabric.at(1).repeat_acks(p.fabric.now(), p.fabric.now());  // since now: nothing came
    p.pass(Duration::milliseconds(1));
    EXPECT_EQ(p.counters(1).tx_acks, before);
    p.fabric.at(1).repeat_acks(p.fabric.now(), begin);
    ASSERT_TRUE(p.until_sends(1, Duration::milliseconds(1)));
    EXPECT_TRUE(p.all_ok(1));
  }
}

// [MRC-RSP-11]: so do a thousand of them, destroyed together.
TEST(Lifecycle, a_thousand_destroyed_responders_still_acknowledge) {
  constexpr int kQps = 1024;
  FabricConfig c;
  Pair p(c);
  std::vector<Link> links;
  for (int i = 0; i < kQps; ++i) links.push_back(p.fabric.connect(0, 1, {}, {4, 4, 1, 0}));
  p.fabric.net().add_outage({-1, 1, p.fabric.now(), p.fabric.now() + Duration::milliseconds(3)});  // ACKs are lost
  for (int i = 0; i < kQps; ++i)
    ASSERT_EQ(p.fabric.write(0, links[static_cast<size_t>(i)].qa, static_cast<uint64_t>(i),
                             &p.source[static_cast<size_t>(i) * 64], 64, p.lkey, &p.target[static_cast<size_t>(i) * 64],
                             p.rkey),
              PostResult::kOk);
  p.pass(Duration::milliseconds(2));
  ASSERT_TRUE(p.arrived(0, kQps * 64));
  EXPECT_TRUE(p.sends().empty());
  for (const Link& l : links) p.fabric.at(1).destroy_qp(l.qb);
  ASSERT_TRUE(p.until_sends(kQps, Duration::seconds(2))) << p.sends().size();
  EXPECT_TRUE(p.all_ok(kQps));
}

}  // namespace
}  // namespace mrc::scenario
