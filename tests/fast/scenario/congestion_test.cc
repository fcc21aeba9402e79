// A transfer under every congestion control algorithm of the registry: with loss, and through queues that mark, trim or
// overflow [MRC-CC-10..13].
#include "core/congestion/registry.h"
#include "harness/congestion_of.h"
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

constexpr uint32_t kBytes = 4 << 20;
constexpr double kLineRate = 100e9;  // four planes of simnet's 25 Gb/s

class Congestion : public testing::TestWithParam<const CongestionAlgorithm*> {
 protected:
  Congestion() {
    auto profile = std::make_shared<CongestionConfig>();
    profile->algorithm = GetParam();
    profile->line_rate_bps = kLineRate;
    profile->base_rtt = Duration::microseconds(14);
    attr.congestion = profile;
    attr.mpr = attr.mpr_dest = 255;
  }
  // The sender's maximum of bytes in flight.
  int64_t transfer(Pair* p) {
    std::vector<TraceRecord> trace;
    p->fabric.record(&trace);
    EXPECT_EQ(p->write(1, 0, kBytes), PostResult::kOk);
    EXPECT_TRUE(p->until_sends(1, Duration::seconds(5)));
    EXPECT_TRUE(p->all_ok(1));
    EXPECT_TRUE(p->arrived(0, kBytes));
    int64_t max = 0, last = 0;
    for (const TraceRecord& r : trace) {
      const auto window = r.get<event::Cwnd>();
      if (r.node != 0 || !window) continue;
      max = std::max(max, window->inflight);
      last = window->inflight;
    }
    EXPECT_LE(last, 0) << "bytes that the network has not got any more";
    return max;
  }
  bool limits() const { return GetParam() != find_congestion_algorithm("none"); }
  QpAttr attr;
  FabricConfig config;
};

TEST_P(Congestion, a_lossy_network_gets_everything_across) {
  Pair p(config, attr, kBytes);
  for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = 0.02;
  transfer(&p);
  EXPECT_GT(p.counters(0).fast_retransmits, 5u);
  EXPECT_EQ(p.counters(0).timeouts, 0u);
}

TEST_P(Congestion, marked_queues_stay_within_the_window) {
  Pair p(config, attr, kBytes);
  for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).ecn_bytes = 8192;
  const int64_t max = transfer(&p);
  EXPECT_GT(p.fabric.net().counters().marked, 0u);
  if (limits()) {
    EXPECT_LE(max, 3 * 175000 / 2);  // 1.5 BDP
    EXPECT_EQ(p.counters(0).retransmits, 0u);
  } else {
    EXPECT_GT(max, 1000000);
  }
}

TEST_P(Congestion, queues_that_trim_are_survived) {
  config.endpoint.trimming = true;
  Pair p(config, attr, kBytes);
  for (int plane = 0; plane < 4; ++plane) {
    p.fabric.net().link(plane).trim = true;
    p.fabric.net().link(plane).queue_bytes = 16384;
  }
  transfer(&p);
  EXPECT_GT(p.counters(0).retransmits, 0u);
}

TEST_P(Congestion, queues_that_overflow_are_survived) {
  Pair p(config, attr, kBytes);
  for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).queue_bytes = 16384;
  transfer(&p);
  EXPECT_GT(p.fabric.net().counters().queue_drops, 0u);
}

INSTANTIATE_TEST_SUITE_P(Registry, Congestion,
                         testing::ValuesIn(congestion_algorithms().begin(), congestion_algorithms().end()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace mrc::scenario
