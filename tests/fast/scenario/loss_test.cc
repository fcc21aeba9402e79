// Faults of the network: with any of them, every byte arrives, once, and soon.
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

struct Fault {
  const char* name;
  double loss, burst, duplicate, reorder, corrupt;
};

class Faults : public testing::TestWithParam<Fault> {};

// [MRC-SACK-3], [MRC-PROBE-4]: SACKs and probes repair every kind of fault; nothing is written twice or elsewhere.
TEST_P(Faults, everything_arrives) {
  Pair p;
  for (int plane = 0; plane < 4; ++plane) {
    simnet::LinkConfig& l = p.fabric.net().link(plane);
    l.loss = GetParam().loss;
    l.burst_loss = GetParam().burst;
    l.duplicate = GetParam().duplicate;
    l.reorder = GetParam().reorder;
    l.corrupt = GetParam().corrupt;
  }
  p.fabric.post_receives(1, p.link.qb, 0, 10);
  for (uint32_t i = 0; i < 100; ++i) {
    const auto result = i % 10 == 9 ? p.write_imm(i, i * 10000, 10000, i) : p.write(i, i * 10000, 10000);
    ASSERT_EQ(result, PostResult::kOk);
  }
  ASSERT_TRUE(p.until_sends(100));
  p.pass(Duration::milliseconds(5));
  EXPECT_TRUE(p.all_ok(100));
  EXPECT_TRUE(p.arrived(0, 1000000));
  EXPECT_TRUE(p.untouched(1000000, p.target.size() - 1000000));
  ASSERT_EQ(p.receives().size(), 10u);
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(p.receives()[i].imm, 10 * i + 9);
  const auto& net = p.fabric.net().counters();
  EXPECT_GT(net.lost + net.duplicated + net.reordered + net.corrupted, 0u);  // the fault did happen
  if (GetParam().corrupt > 0) {
    EXPECT_GT(p.counters(0).drop_icrc + p.counters(1).drop_icrc, 0u);
  }
  if (GetParam().duplicate > 0) {
    EXPECT_GT(p.counters(1).rx_duplicates, 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, Faults,
                         testing::Values(Fault{"Loss1", 0.01, 0, 0, 0, 0}, Fault{"Loss5", 0.05, 0, 0, 0, 0},
                                         Fault{"Loss20", 0.2, 0, 0, 0, 0}, Fault{"Burst", 0, 0.02, 0, 0, 0},
                                         Fault{"Duplicate", 0, 0, 0.3, 0, 0}, Fault{"Reorder", 0, 0, 0, 0.3, 0},
                                         Fault{"Corrupt", 0, 0, 0, 0, 0.05}, Fault{"All", 0.02, 0.01, 0.1, 0.1, 0.02}),
                         [](const auto& i) { return std::string(i.param.name); });

// [MRC-PROBE-4]: a lost tail is found by a probe, long before the QP's timeout.
TEST(Loss, tail_is_repaired_by_a_probe) {
  Pair p;
  ASSERT_EQ(p.write(1, 0, 100000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  ASSERT_EQ(p.write(2, 100000, 40000), PostResult::kOk);
  p.fabric.pump();
  p.pass(Duration::microseconds(2));
  p.fabric.net().add_outage({-1, 0, p.fabric.now(), p.fabric.now() + Duration::microseconds(1)});
  ASSERT_EQ(p.write(3, 140000, 1000), PostResult::kOk);
  p.fabric.pump();
  EXPECT_TRUE(p.until_sends(3, Duration::milliseconds(5)));
  EXPECT_GE(p.fabric.net().counters().lost, 1u);
  EXPECT_GE(p.counters(0).tx_probes, 1u);
  EXPECT_EQ(p.counters(0).timeouts, 0u);
}

// A packet that is lost among messages of any pace is found by its plane's later packets, or by the silence of its
// plane while others answer; never by the QP's timeout of 17 ms.
TEST(Loss, a_lost_packet_is_found_soon_at_any_pace) {
  for (const int64_t pace_us : {1, 5, 20, 50, 100, 200, 300, 400, 450, 500, 600, 800, 1000, 2000}) {
    Pair p;
    uint64_t posted = 0;
    int lose = -1;
    p.fabric.net().set_filter([&](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      if (node != 0 || bytes.size() < 500 || lose != 0)
        return lose -= (node == 0 && bytes.size() >= 500 && lose > 0), false;
      lose = -1;
      return true;
    });
    const auto send = [&] {
      ASSERT_EQ(p.write(posted, static_cast<uint32_t>(posted % 100) * 1000, 1000), PostResult::kOk);
      ++posted;
      p.pass(Duration::microseconds(pace_us));
    };
    for (int i = 0; i < 60; ++i) send();
    lose = 0;
    send();
    const uint64_t lost = posted;
    Duration waited;
    while (p.sends().size() < lost && waited < Duration::milliseconds(12)) {
      if (posted < lost + 60)
        send();
      else
        p.pass(Duration::microseconds(pace_us));
      waited = waited + Duration::microseconds(pace_us);
    }
    EXPECT_GE(p.sends().size(), lost) << "a message each " << pace_us << " us";
    EXPECT_EQ(p.counters(0).timeouts, 0u) << "a message each " << pace_us << " us";
    EXPECT_EQ(p.fabric.net().counters().lost, 1u);
  }
}

// [MRC-PSN-2]: behind the window is a duplicate, and a duplicate never writes memory, however late it comes.
TEST(Loss, a_late_duplicate_never_writes) {
  Pair p(without_queries());
  ASSERT_EQ(p.write(1, 0, 1000), PostResult::kOk);
  auto burst = std::make_unique<TxBurst>();
  ASSERT_TRUE(p.fabric.at(0).poll_tx(p.fabric.now(), burst.get()));
  std::vector<uint8_t> packet;
  for (uint32_t i = 0; i < burst->iov_count; ++i) {
    const auto* bytes = static_cast<const uint8_t*>(burst->iov[i].iov_base);
    packet.insert(packet.end(), bytes, bytes + burst->iov[i].iov_len);
  }
  const wire::Flow flow = burst->flow;
  const int plane = burst->plane.value();
  p.fabric.net().send(p.fabric.now(), 0, *burst);
  ASSERT_TRUE(p.until_sends(1));
  ASSERT_TRUE(p.arrived(0, 1000));
  std::fill(p.target.begin(), p.target.end(), kFill);
  const uint64_t before = p.counters(1).rx_duplicates;
  p.fabric.net().inject(p.fabric.now() + Duration::milliseconds(1), 1, plane, flow, packet);
  p.pass(Duration::milliseconds(5));
  EXPECT_EQ(p.counters(1).rx_duplicates, before + 1);
  EXPECT_TRUE(p.untouched(0, p.target.size()));
}

// [MRC-NACK-2]: cut packets are NACKed and sent again without waiting for any timer.
TEST(Loss, trimmed_packets_are_nacked_and_repaired) {
  FabricConfig c;
  c.endpoint.trimming = true;
  Pair p(c);
  for (int plane = 0; plane < 4; ++plane) {
    simnet::LinkConfig& l = p.fabric.net().link(plane);
    l.rate_bps = 1e9;
    l.queue_bytes = 8000;
    l.trim = true;
  }
  ASSERT_EQ(p.write(1, 0, 1000000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
  EXPECT_TRUE(p.arrived(0, 1000000));
  EXPECT_GT(p.counters(1).rx_trimmed, 0u);
  EXPECT_GT(p.counters(0).rx_nacks, 0u);
  EXPECT_EQ(p.counters(0).timeouts, 0u);
}

// [MRC-SACK-4]: a CE mark comes back as SKIP_ONCE, and the path is passed over at its next turn.
TEST(Loss, marked_paths_are_skipped) {
  Pair p;
  for (int plane = 0; plane < 4; ++plane) {
    p.fabric.net().link(plane).rate_bps = 1e9;
    p.fabric.net().link(plane).ecn_bytes = 8000;
  }
  ASSERT_EQ(p.write(1, 0, 1000000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.arrived(0, 1000000));
  EXPECT_GT(p.counters(1).rx_ecn, 0u);
  EXPECT_GT(p.counters(0).ev_skips, 0u);
}

// A peer that has gone: the budget of finite retries ends the QP, neither earlier nor much later.
TEST(Loss, finite_retries_end_in_retry_exceeded) {
  QpAttr attr;
  attr.timeout = 8;  // 262 us
  attr.retry_linear = 2;
  attr.retry_exp = 2;
  Pair p({}, attr);
  p.fabric.net().add_outage({-1, -1, p.fabric.now(), Instant::never()});
  const Instant start = p.fabric.now();
  ASSERT_EQ(p.write(1, 0, 100), PostResult::kOk);
  ASSERT_EQ(p.write(2, 0, 100), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(2, Duration::milliseconds(20)));
  EXPECT_GE(p.fabric.now() - start, Duration::microseconds(4 * 262));
  EXPECT_EQ(p.sends()[0].status, WcStatus::kRetryExceeded);
  EXPECT_EQ(p.sends()[1].status, WcStatus::kFlushed);
  EXPECT_EQ(p.state(0), QpState::kError);
}

// Half of all packets, in both directions: three of four have no answer. Work is done or given up, in bounded time.
TEST(Loss, half_of_all_packets_lost_ends_in_bounded_time) {
  for (const uint64_t seed : {1, 2, 3}) {
    FabricConfig c;
    c.seed = seed;
    Pair p(c);
    for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = 0.5;
    for (uint64_t i = 0; i < 16; ++i) ASSERT_EQ(p.write(i, i * 65536, 65536), PostResult::kOk);
    ASSERT_TRUE(p.until_sends(16, Duration::seconds(150))) << seed;
    if (p.state(0) == QpState::kRts) {
      EXPECT_TRUE(p.all_ok(16));
      EXPECT_TRUE(p.arrived(0, 16 * 65536));
    }
  }
}

// [MRC-LOSS-3] With the default budget a peer that is stopped for a minute survives, and one that is gone is given up
// after two.
TEST(Loss, the_default_budget_is_two_minutes_of_silence) {
  for (const bool restored : {true, false}) {
    Pair p;
    const Instant begin = p.fabric.now();
    p.fabric.net().add_outage({-1, -1, begin, restored ? begin + Duration::seconds(60) : Instant::never()});
    ASSERT_EQ(p.write(1, 0, 50000), PostResult::kOk);
    ASSERT_TRUE(p.until_sends(1, Duration::seconds(150)));
    const Duration took = p.fabric.now() - begin;
    EXPECT_EQ(p.sends()[0].status, restored ? WcStatus::kSuccess : WcStatus::kRetryExceeded);
    if (!restored) {
      EXPECT_GT(took, Duration::seconds(110));
      EXPECT_LT(took, Duration::seconds(140));
    }
  }
}

// 25 exponential retries are as many as it takes.
TEST(Loss, unlimited_retries_outlast_a_long_silence) {
  QpAttr attr;
  attr.timeout = 8;
  attr.retry_linear = 1;
  attr.retry_exp = 25;
  Pair p({}, attr);
  p.fabric.net().add_outage({-1, -1, p.fabric.now(), p.fabric.now() + Duration::seconds(30)});
  ASSERT_EQ(p.write(1, 0, 50000), PostResult::kOk);
  p.pass(Duration::seconds(30));
  EXPECT_TRUE(p.sends().empty());
  EXPECT_EQ(p.state(0), QpState::kRts);
  ASSERT_TRUE(p.until_sends(1, Duration::seconds(1)));
  EXPECT_TRUE(p.all_ok(1));
  EXPECT_TRUE(p.arrived(0, 50000));
}

}  // namespace
}  // namespace mrc::scenario
