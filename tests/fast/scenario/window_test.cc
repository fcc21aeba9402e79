// Limits of what may be under way: the PSN window of the responder, WriteIMMs, receive work requests.
#include "harness/congestion_of.h"
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

class Windows : public testing::TestWithParam<int> {};

// [MRC-PSN-2]: the responder takes cack + 1 .. cack + 128 * MPR; the requester uses the last reported cack.
TEST_P(Windows, never_more_psns_under_way_than_the_responders_window) {
  QpAttr attr;
  attr.path_mtu = 256;
  attr.mpr = attr.mpr_dest = static_cast<uint8_t>(GetParam());
  attr.sq_psn = Psn(0xFFFF00);
  Pair p({}, attr);
  for (int plane = 0; plane < 4; ++plane) {
    p.fabric.net().link(plane).loss = 0.02;
    p.fabric.net().link(plane).latency = Duration::microseconds(100);
  }
  std::vector<TraceRecord> trace;
  p.fabric.record(&trace);
  ASSERT_EQ(p.write(1, 0, 1000000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.arrived(0, 1000000));
  Psn acknowledged = attr.sq_psn - 1;
  int32_t max = 0;
  for (const TraceRecord& r : trace) {
    if (r.node != 0) continue;
    if (const auto sack = r.get<event::RxSack>(); sack && sack->cack > acknowledged) acknowledged = sack->cack;
    if (const auto ack = r.get<event::RxAck>(); ack && ack->psn > acknowledged) acknowledged = ack->psn;
    if (const auto sent = r.get<event::TxData>()) max = std::max(max, sent->psn - acknowledged);
  }
  EXPECT_LE(max, 128 * GetParam());
  EXPECT_GE(max, 127);  // and it is used
  EXPECT_EQ(p.counters(1).drop_window, 0u);
}
INSTANTIATE_TEST_SUITE_P(Mpr, Windows, testing::Values(1, 2, 32));

// [MRC-CHOICE-Q26] The largest window is used to its end, and its far end fits the signed offsets of a SACK: what is
// lost early is repaired while everything behind it has arrived.
TEST(Window, the_largest_window_is_used_to_its_end) {
  constexpr uint32_t kBytes = 256 * 128 * 255 + 500000;
  QpAttr attr;
  attr.path_mtu = 256;
  attr.mpr = attr.mpr_dest = 255;
  attr.sq_psn = Psn(0xFFFF00);
  attr.congestion = congestion_of("none");
  attr.timeout = 20;  // longer than a round trip before the first sample
  Pair p({}, attr, kBytes);
  for (int plane = 0; plane < 4; ++plane) {
    p.fabric.net().link(plane).latency = Duration::milliseconds(50);
    p.fabric.net().link(plane).loss = 0.01;
  }
  std::vector<TraceRecord> trace;
  p.fabric.record(&trace);
  ASSERT_EQ(p.write(1, 0, kBytes), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1, Duration::seconds(60)));
  EXPECT_TRUE(p.all_ok(1));
  EXPECT_TRUE(p.arrived(0, kBytes));
  int32_t furthest = 0;
  for (const TraceRecord& r : trace) {
    if (r.node == 0 && (r.event == TraceEvent::kRxSack || r.event == TraceEvent::kRxAck)) break;
    if (const auto sent = r.get<event::TxData>(); sent && r.node == 0)
      furthest = std::max(furthest, sent->psn - attr.sq_psn);
  }
  EXPECT_EQ(furthest, 128 * 255 - 2);  // one short of the window's last PSN [MRC-CHOICE-Q6]
  EXPECT_GT(p.counters(0).fast_retransmits, 0u);
  EXPECT_EQ(p.counters(1).drop_window, 0u);
}

// The same with queues that hold half of the window, for many seeds: every loss is repaired in a number of
// round trips (100 ms), and no seed stalls.
TEST(Window, a_window_that_overflows_the_queues_is_repaired_in_time_with_any_seed) {
  constexpr uint32_t kBytes = 256 * 128 * 4 + 8000;
  for (const double loss : {0.01, 0.1}) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      QpAttr attr;
      attr.path_mtu = 256;
      attr.mpr = attr.mpr_dest = 4;
      attr.sq_psn = Psn(0xFFFF00);
      attr.congestion = congestion_of("none");
      attr.timeout = 20;
      FabricConfig config;
      config.seed = seed;
      Pair p(config, attr, kBytes);
      for (int plane = 0; plane < 4; ++plane) {
        p.fabric.net().link(plane).latency = Duration::milliseconds(50);
        p.fabric.net().link(plane).loss = loss;
        p.fabric.net().link(plane).queue_bytes = 16384;
      }
      ASSERT_EQ(p.write(1, 0, kBytes), PostResult::kOk);
      ASSERT_TRUE(p.until_sends(1, Duration::seconds(4))) << loss << ", seed " << seed;
      EXPECT_TRUE(p.all_ok(1)) << loss << ", seed " << seed;
      EXPECT_TRUE(p.arrived(0, kBytes)) << loss << ", seed " << seed;
      EXPECT_GT(p.fabric.net().counters().queue_drops, 100u);
    }
  }
}

// spec/clients.md rule 5: more WriteIMMs are posted than the limit; they queue at the sender and none fails.
TEST(Window, write_imms_beyond_the_limit_queue_at_the_sender) {
  QpAttr attr;
  attr.max_wimm = attr.max_wimm_dest = 4;
  Pair p({}, attr);
  for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = 0.02;
  p.fabric.post_receives(1, p.link.qb, 0, 100);
  std::vector<TraceRecord> trace;
  p.fabric.record(&trace);
  for (uint32_t i = 0; i < 100; ++i) ASSERT_EQ(p.write_imm(i, i * 8, 8, i), PostResult::kOk);
  ptrdiff_t max_under_way = 0;
  ASSERT_TRUE(p.fabric.run_until(
      [&] {
        const auto sent = std::count_if(trace.begin(), trace.end(), [](const TraceRecord& r) {
          return r.node == 0 && r.event == TraceEvent::kTxData;
        });
        max_under_way = std::max(max_under_way, sent - static_cast<ptrdiff_t>(p.sends().size()));
        return p.sends().size() == 100;
      },
      Duration::seconds(10)));
  EXPECT_EQ(max_under_way, 4);  // used, and never exceeded
  EXPECT_TRUE(p.all_ok(100));
  EXPECT_EQ(p.receives().size(), 100u);
  EXPECT_EQ(p.counters(1).qp_errors, 0u);
}

// [MRC-WIMM-2]: RQMSN wraps at 2^16, and a limit that does not divide that keeps its places apart all the same.
TEST(Window, write_imms_wrap_with_a_limit_that_is_no_power_of_two) {
  QpAttr attr;
  attr.max_wimm = attr.max_wimm_dest = 100;
  Pair p({}, attr, 4096, {256, 256, 4, 64});
  constexpr uint32_t kBefore = 65536 - 50, kAcross = 100;
  for (uint32_t done = 0; done < kBefore;) {
    const uint32_t n = std::min<uint32_t>(100, kBefore - done);
    p.fabric.post_receives(1, p.link.qb, done, static_cast<int>(n));
    for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(p.write_imm(done + i, 0, 0, done + i), PostResult::kOk);
    done += n;
    ASSERT_TRUE(p.until_sends(done));
  }
  // As many as the limit lets through, all held at once across the wrap.
  for (uint32_t i = 0; i < kAcross; ++i) ASSERT_EQ(p.write_imm(kBefore + i, 0, 0, kBefore + i), PostResult::kOk);
  p.pass(Duration::milliseconds(5));
  EXPECT_EQ(p.counters(1).qp_errors, 0u);
  p.fabric.post_receives(1, p.link.qb, kBefore, kAcross);
  ASSERT_TRUE(p.until_sends(kBefore + kAcross));
  EXPECT_TRUE(p.all_ok(kBefore + kAcross));
  for (uint32_t i = 0; i < kAcross; ++i) ASSERT_EQ(p.receives()[kBefore + i].imm, kBefore + i);
}

// A WriteIMM that finds no receive work request is held until there is one; its payload is in memory meanwhile.
TEST(Window, write_imm_without_receive_is_held) {
  Pair p;
  ASSERT_EQ(p.write_imm(1, 0, 5000, 7), PostResult::kOk);
  ASSERT_EQ(p.write_imm(2, 5000, 0, 8), PostResult::kOk);
  p.pass(Duration::milliseconds(20));
  EXPECT_TRUE(p.receives().empty());
  EXPECT_TRUE(p.arrived(0, 5000));
  EXPECT_EQ(p.state(0), QpState::kRts);
  p.fabric.post_receives(1, p.link.qb, 90, 1);
  ASSERT_TRUE(p.until_receives(1, Duration::milliseconds(50)));
  EXPECT_EQ(p.receives()[0].imm, 7u);
  p.pass(Duration::milliseconds(20));
  EXPECT_EQ(p.receives().size(), 1u);
  p.fabric.post_receives(1, p.link.qb, 91, 1);
  ASSERT_TRUE(p.until_sends(2));
  EXPECT_TRUE(p.all_ok(2));
  EXPECT_EQ(p.receives()[1].imm, 8u);
}

// [MRC-AETH-1]: with holding off, the same is a NAK for an invalid request and the end of both QPs.
TEST(Window, write_imm_without_receive_is_an_error_where_holding_is_off) {
  FabricConfig c;
  c.endpoint.hold_without_recv_wqe = false;
  Pair p(c);
  p.fabric.post_receives(1, p.link.qb, 0, 1);
  ASSERT_EQ(p.write_imm(1, 0, 8, 7), PostResult::kOk);
  ASSERT_EQ(p.write_imm(2, 8, 8, 8), PostResult::kOk);
  ASSERT_EQ(p.write(3, 16, 8), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(3));
  EXPECT_EQ(p.sends()[0].status, WcStatus::kSuccess);
  EXPECT_NE(p.sends()[1].status, WcStatus::kSuccess);
  EXPECT_NE(p.sends()[1].status, WcStatus::kFlushed);
  EXPECT_EQ(p.sends()[2].status, WcStatus::kFlushed);
  EXPECT_EQ(p.state(0), QpState::kError);
  EXPECT_EQ(p.state(1), QpState::kError);
}

}  // namespace
}  // namespace mrc::scenario
