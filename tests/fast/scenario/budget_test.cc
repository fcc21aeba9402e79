// The retry budget: what charges it, what resets it, and how a QP ends that has none left.
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

QpAttr short_budget(uint8_t timeout) {
  QpAttr attr;
  attr.timeout = timeout;
  attr.retry_linear = 3;
  attr.retry_exp = 2;
  return attr;
}

// A path with a small MTU and no message about it: small packets pass, full ones do not.
bool full_packet(int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
  return node == 0 && bytes.size() > 2000;
}

class Budget : public testing::TestWithParam<int> {};

// [MRC-LOSS-5]: probes are answered all the time, and the QP fails all the same within a few times its budget.
TEST_P(Budget, runs_out_where_probes_pass_and_data_does_not) {
  const auto timeout = static_cast<uint8_t>(GetParam());
  Pair p({}, short_budget(timeout));
  p.fabric.net().set_filter(full_packet);
  ASSERT_EQ(p.write(1, 0, 100000), PostResult::kOk);
  // Three intervals, then two that double: 3 + 2 + 4, and one more for the last packet.
  ASSERT_TRUE(p.until_sends(1, Duration::nanoseconds((1024ll << timeout) * 20)));
  // Where the budget lasts for longer than a search for the path MTU, the reason is known [MRC-MTU-4].
  EXPECT_EQ(p.sends()[0].status, timeout < 15 ? WcStatus::kRetryExceeded : WcStatus::kPathMtu);
  EXPECT_EQ(p.state(0), QpState::kError);
  EXPECT_TRUE(p.untouched(0, 90000));
}
INSTANTIATE_TEST_SUITE_P(Timeouts, Budget, testing::Values(10, 15, 16, 18));

// [MRC-LOSS-3]: the same budget where nothing passes at all.
TEST(Budget, runs_out_in_silence) {
  Pair p({}, short_budget(10));
  p.fabric.net().add_outage({-1, -1, p.fabric.now(), Instant::never()});
  ASSERT_EQ(p.write(1, 0, 100), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1, Duration::milliseconds(200)));
  EXPECT_EQ(p.sends()[0].status, WcStatus::kRetryExceeded);
}

// The default is two minutes: a peer that is stopped for 90 s, by a debugger or for a snapshot, does not fail its queue
// pairs. With many packets out at different times, which expire one by one, and with one that has arrived and is not
// acknowledged.
TEST(Budget, lasts_for_its_time_by_default) {
  for (const uint32_t bytes : {100u, 4096u * 8, 1u << 20}) {
    Pair p;
    for (int i = 0; i < 4; ++i) ASSERT_EQ(p.write(static_cast<uint64_t>(i), 0, bytes), PostResult::kOk);
    p.pass(Duration::microseconds(30));
    const Instant silent = p.fabric.now();
    p.fabric.net().add_outage({-1, -1, silent, Instant::never()});
    ASSERT_EQ(p.write(4, 0, bytes), PostResult::kOk);
    while (p.state(0) != QpState::kError && p.fabric.now() - silent < Duration::seconds(300))
      p.pass(Duration::seconds(1));
    EXPECT_GE(p.fabric.now() - silent, Duration::seconds(115)) << bytes;
    EXPECT_LE(p.fabric.now() - silent, Duration::seconds(140)) << bytes;
  }
}

// Progress, however slow, resets it: far more intervals pass than there are retries.
TEST(Budget, is_reset_by_progress) {
  Pair p(without_queries(), short_budget(10));
  int full = 0;
  p.fabric.net().set_filter([&full](int node, int plane, const wire::Flow& flow, const std::vector<uint8_t>& bytes) {
    return full_packet(node, plane, flow, bytes) && ++full % 5 != 0;
  });
  for (uint64_t i = 0; i < 20; ++i) ASSERT_EQ(p.write(i, i * 4096, 4096), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(20, Duration::seconds(20)));
  EXPECT_TRUE(p.all_ok(20));
  EXPECT_TRUE(p.arrived(0, 20 * 4096));
}

// A peer that holds a WriteIMM for want of a receive answers probes: it is up, and the QP does not fail.
TEST(Budget, is_not_charged_by_a_peer_that_holds_the_work) {
  Pair p({}, short_budget(10));
  ASSERT_EQ(p.write_imm(1, 0, 5000, 7), PostResult::kOk);
  p.pass(Duration::seconds(2));
  EXPECT_EQ(p.state(0), QpState::kRts);
  p.fabric.post_receives(1, p.link.qb, 1, 1);
  EXPECT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
}

// Trims of the packet that everything waits for cost nothing by themselves: incast trims the same packet many times
// within one interval.
TEST(Budget, is_not_charged_by_each_nack) {
  FabricConfig c;
  c.endpoint.trimming = true;
  Pair p(c, short_budget(14));
  for (int plane = 0; plane < 4; ++plane) {
    simnet::LinkConfig& l = p.fabric.net().link(plane);
    l.rate_bps = 2e8;
    l.queue_bytes = 4500;
    l.trim = true;
  }
  ASSERT_EQ(p.write(1, 0, 400000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
  EXPECT_GT(p.counters(0).rx_nacks, 20u);
}

}  // namespace
}  // namespace mrc::scenario
