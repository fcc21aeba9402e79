// QPs by number, and the references that they hold. Tombstones: tombstones_test.cc.
#include "core/qp_table.h"

#include "bare_engine.h"

namespace mrc::core {
namespace {

EndpointConfig three_qps() {
  EndpointConfig c = bare_config();
  c.max_qps = 3;
  return c;
}

class QpTableTest : public BareEngine {
 protected:
  QpTableTest() : BareEngine(three_qps()) {}
};

TEST_F(QpTableTest, a_number_is_taken_once) {
  EXPECT_EQ(qps_.slot_of(Qpn(0x101)), UINT32_MAX);
  Qp* const qp = add_qp(0x101);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(qps_.find(Qpn(0x101)), qp);
  EXPECT_EQ(qps_.find(Qpn(0x102)), nullptr);
  EXPECT_EQ(add_qp(0x101), nullptr);
  EXPECT_EQ(qps_.count(), 1u);
  qps_.check();
}

// The upper bits are the process's slot: the same in all numbers of one endpoint, but not in what a peer sends.
TEST_F(QpTableTest, the_upper_bits_of_a_number_are_compared) {
  ASSERT_NE(add_qp(0x20101), nullptr);
  EXPECT_EQ(qps_.find(Qpn(0x101)), nullptr);
  EXPECT_EQ(qps_.find(Qpn(0x30101)), nullptr);
  EXPECT_EQ(add_qp(0x30101), nullptr);
}

TEST_F(QpTableTest, a_number_that_is_free_again_keeps_its_slot) {
  qps_.destroy(add_qp(0x101));
  EXPECT_EQ(qps_.find(Qpn(0x101)), nullptr);
  const uint32_t slot = qps_.slot_of(Qpn(0x101));
  ASSERT_NE(add_qp(0x30101), nullptr);
  EXPECT_EQ(qps_.slot_of(Qpn(0x30101)), slot);
  EXPECT_EQ(qps_.count(), 1u);
}

TEST_F(QpTableTest, at_most_as_many_as_configured) {
  for (uint32_t i = 0; i < 3; ++i) ASSERT_NE(add_qp(0x100 + i), nullptr);
  EXPECT_EQ(add_qp(0x103), nullptr);
  qps_.destroy(qps_.find(Qpn(0x101)));
  EXPECT_NE(add_qp(0x103), nullptr);
}

TEST_F(QpTableTest, exchanging_the_peer_moves_the_reference) {
  Qp* const qp = add_qp(0x101);
  const PeerId a = peers_.intern(bare_peer(2)), b = peers_.intern(bare_peer(3));
  qps_.set_peer(qp, a);
  EXPECT_EQ(peers_.find(a)->refs.all, 2u);
  peers_.release(a);
  qps_.set_peer(qp, b);
  EXPECT_EQ(peers_.find(a), nullptr);
  EXPECT_EQ(qp->peer, peers_.find(b));
  qps_.set_peer(qp, b);  // the same once more: it must not be destroyed in between
  EXPECT_EQ(peers_.find(b)->refs.all, 2u);
  qps_.check();
  qps_.destroy(qp);
  EXPECT_EQ(peers_.find(b)->refs.all, 1u);
}

TEST_F(QpTableTest, only_senders_with_work_are_woken) {
  Qp* const idle = add_qp(0x101);
  Qp* const busy = add_qp(0x102);
  Qp* const not_yet = add_qp(0x103);
  idle->state = busy->state = QpState::kRts;
  SendWr wr;
  ASSERT_EQ(busy->requester.post(Instant(), wr), PostResult::kOk);
  ASSERT_EQ(not_yet->requester.post(Instant(), wr), PostResult::kOk);
  qps_.wake_senders();
  EXPECT_FALSE(idle->ready.linked);
  EXPECT_TRUE(busy->ready.linked);
  EXPECT_FALSE(not_yet->ready.linked);
}

}  // namespace
}  // namespace mrc::core
