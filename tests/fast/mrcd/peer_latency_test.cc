// Histograms by peer: sums over processes that never fall, the bounded number of labels, and the text for Prometheus.
// [MRC-MON-9]
#include "peer_latency.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "metrics_check.h"
#include "web.h"

namespace mrc::mrcd {
namespace {

ctl::DelayReport delays(size_t octave, uint64_t count, uint64_t sum_ns) {
  ctl::DelayReport report{sum_ns, std::vector<ctl::Whole<uint64_t>>(ctl::DelayReport::kCounts)};
  report.counts[octave] = count;
  return report;
}

std::string address(size_t i) {
  return "10.0.0." + std::to_string(i);
}

ctl::PeerReport peer(uint32_t i, uint64_t completions = 1) {
  return {i, {"", address(i)}, {}, delays(3, completions, completions * 8000), {}};
}

std::vector<ctl::PeerReport> peers(uint32_t first, uint32_t count, uint64_t completions = 1) {
  std::vector<ctl::PeerReport> made;
  for (uint32_t i = first; i < first + count; ++i) made.push_back(peer(i, completions));
  return made;
}

uint64_t count_of(const LatencySeries& series, const std::string& label, const std::string& device = "mrc0") {
  const ctl::DelayReport sum = series.by_peer().at(device).at(label).completion;
  EXPECT_EQ(sum.sum_ns, sum.counts[3] * 8000);
  return sum.counts[3];
}

uint64_t count_of_all(const LatencySeries& series) {
  return series.all_peers().at("mrc0").at("all").completion.counts[3];
}

TEST(PeerLatency, sums_what_all_processes_report_of_a_peer) {
  LatencySeries series;
  EXPECT_TRUE(series.by_peer().empty());
  series.report(1, "mrc0", {peer(2, 3), peer(3)});
  ctl::PeerReport retransmits = peer(2, 4);
  retransmits.retransmission = delays(5, 2, 60000);
  series.report(2, "mrc0", {retransmits});
  const PeerLatency sum = series.by_peer().at("mrc0").at(address(2));
  EXPECT_EQ(sum.completion.counts[3], 7u);
  EXPECT_EQ(sum.completion.sum_ns, 56000u);
  EXPECT_EQ(sum.retransmission.counts[5], 2u);
  EXPECT_TRUE(series.by_peer().at("mrc0").at(address(3)).retransmission.counts.empty());
  ASSERT_EQ(series.all_peers().at("mrc0").size(), 1u);
  EXPECT_EQ(count_of_all(series), 8u);
}

TEST(PeerLatency, a_peer_is_named_by_its_first_address_and_by_nothing_else) {
  EXPECT_EQ(address_of(peer(2)), "10.0.0.2");
  EXPECT_EQ(address_of({0, {"a name\nwith lines"}, {}, {}, {}}), "unknown");
  EXPECT_EQ(address_of({}), "unknown");
}

TEST(PeerLatency, every_spelling_of_an_address_is_one_peer) {
  LatencySeries series;
  ClientId client = 0;
  for (const char* text : {"10.0.0.7", "::ffff:10.0.0.7", "::FFFF:a00:7"}) {
    ctl::PeerReport one = peer(2);
    one.addresses = {text};
    series.report(++client, "mrc0", {one});
  }
  for (const char* text : {"fd00::1a", "FD00::1A", "fd00:0:0:0:0:0:0:1a"}) {
    ctl::PeerReport one = peer(3);
    one.addresses = {text};
    series.report(++client, "mrc0", {one});
  }
  EXPECT_EQ(series.by_peer().at("mrc0").size(), 2u);
  EXPECT_EQ(count_of(series, "10.0.0.7"), 3u);
  EXPECT_EQ(count_of(series, "fd00::1a"), 3u);
}

TEST(PeerLatency, last_figures_count_once_and_free_the_number) {
  LatencySeries series;
  series.report(1, "mrc0", {peer(2, 5), peer(3, 1)});
  series.last(1, "mrc0", {peer(2, 6)});
  EXPECT_EQ(count_of(series, address(2)), 6u);
  series.report(1, "mrc0", {peer(2, 7), peer(3, 1)});  // another peer of that number and address
  EXPECT_EQ(count_of(series, address(2)), 13u);
  series.last(1, "mrc0", {peer(9, 4), peer(2, 8), peer(3, 1)});  // at the end: 9 was never in a report
  series.end(1);
  EXPECT_EQ(count_of(series, address(2)), 14u);
  EXPECT_EQ(count_of(series, address(3)), 1u);
  EXPECT_EQ(count_of(series, address(9)), 4u);
  EXPECT_EQ(count_of_all(series), 19u);
  series.report(2, "mrc0", peers(100, LatencySeries::kMaxNamed));
  EXPECT_EQ(series.by_peer().at("mrc0").size(), LatencySeries::kMaxNamed) << "a peer that has gone holds no place";
}

TEST(PeerLatency, keeps_what_an_ended_process_has_counted) {
  LatencySeries series;
  series.report(1, "mrc0", {peer(2, 3)});
  series.report(2, "mrc0", {peer(2, 4)});
  series.end(1);
  EXPECT_EQ(count_of(series, address(2)), 7u);
  series.report(2, "mrc0", {peer(2, 6)});
  series.report(3, "mrc0", {peer(2, 1)});  // a new process begins at zero
  EXPECT_EQ(count_of(series, address(2)), 10u);
  EXPECT_EQ(count_of_all(series), 10u);
}

TEST(PeerLatency, keeps_what_a_released_peer_had) {
  LatencySeries series;
  series.report(1, "mrc0", {peer(2, 5), peer(3, 1)});
  series.report(1, "mrc0", {peer(3, 2)});
  EXPECT_EQ(count_of(series, address(2)), 5u);
  series.report(1, "mrc0", {peer(2, 2), peer(3, 2)});  // and is there again
  EXPECT_EQ(count_of(series, address(2)), 7u);
  ctl::PeerReport other = peer(2, 1);  // between two reports its number went to another peer
  other.addresses = {address(9)};
  series.report(1, "mrc0", {other, peer(3, 2)});
  EXPECT_EQ(count_of(series, address(2)), 7u);
  EXPECT_EQ(count_of(series, address(9)), 1u);
  series.report(1, "mrc0", {});
  EXPECT_EQ(count_of_all(series), 10u);
}

TEST(PeerLatency, a_report_that_does_not_come_changes_nothing) {
  LatencySeries series;
  series.report(1, "mrc0", {peer(2, 3)});
  series.report(2, "mrc0", {peer(2, 4)});
  series.report(2, "mrc0", {peer(2, 5)});
  EXPECT_EQ(count_of(series, address(2)), 8u);
  series.report(1, "mrc0", {peer(2, 9)});
  EXPECT_EQ(count_of(series, address(2)), 14u);
}

TEST(PeerLatency, an_address_that_becomes_known_moves_no_samples) {
  LatencySeries series;
  ctl::PeerReport without = peer(2, 3);
  without.addresses.clear();
  series.report(1, "mrc0", {without});
  series.report(1, "mrc0", {peer(2, 5)});
  EXPECT_EQ(count_of(series, "unknown"), 3u);
  EXPECT_EQ(count_of(series, address(2)), 2u);
}

TEST(PeerLatency, peers_beyond_the_limit_share_a_series_and_stay_there) {
  constexpr uint32_t kMaxPeers = LatencySeries::kMaxNamed;
  LatencySeries series;
  series.report(1, "mrc0", peers(1, kMaxPeers));
  std::vector<ctl::PeerReport> all = peers(0, kMaxPeers + 1);  // number 0 sorts before all others, and displaces none
  series.report(1, "mrc0", all);
  EXPECT_EQ(series.by_peer().at("mrc0").size(), kMaxPeers + 1);
  EXPECT_EQ(count_of(series, LatencySeries::kOther), 1u);
  EXPECT_EQ(count_of(series, address(1)), 1u);
  all.pop_back();
  all[0] = peer(0, 7);
  series.report(1, "mrc0", all);  // a place is free again
  EXPECT_EQ(count_of(series, LatencySeries::kOther), 7u);
  EXPECT_EQ(series.by_peer().at("mrc0").count(address(0)), 0u);
}

TEST(PeerLatency, a_series_is_kept_until_another_peer_needs_its_place) {
  constexpr uint32_t kMaxPeers = LatencySeries::kMaxNamed;
  LatencySeries series;
  series.report(1, "mrc0", peers(1, kMaxPeers, 2));
  series.report(1, "mrc0", {});
  EXPECT_EQ(count_of(series, address(1)), 2u);
  series.report(2, "mrc0", {peer(1, 1), peer(200, 1)});
  EXPECT_EQ(count_of(series, address(1)), 3u);
  EXPECT_EQ(count_of(series, address(200)), 1u);
  EXPECT_EQ(series.by_peer().at("mrc0").count(address(2)), 0u);
}

// Whatever comes and goes: no series has ever less than before, and there are never more than the limit.
TEST(PeerLatency, no_series_falls_while_peers_and_processes_come_and_go) {
  LatencySeries series;
  std::map<std::string, uint64_t> last;
  uint64_t last_of_all = 0;
  for (uint32_t round = 0; round < 200; ++round) {
    const ClientId client = 1 + round % 3;
    if (round % 7 == 6) series.end(client);
    series.report(client, "mrc0", peers(round * 5 % 90, 10 + round % 17, 1 + round * 31 % 50));
    std::map<std::string, uint64_t> now;
    const LatencyByPeer by_peer = series.by_peer().at("mrc0");
    for (const auto& [label, sums] : by_peer) now[label] = sums.completion.counts[3];
    ASSERT_LE(now.size(), LatencySeries::kMaxNamed + 1);
    for (const auto& [label, count] : now)
      if (last.contains(label)) {
        ASSERT_GE(count, last[label]) << label << " in round " << round;
      }
    ASSERT_GE(count_of_all(series), last_of_all);
    last = now, last_of_all = count_of_all(series);
  }
}

TEST(PeerLatency, a_client_that_changes_its_device_leaves_what_it_had) {
  LatencySeries series;
  series.report(1, "mrc0", {peer(2, 3)});
  series.report(1, "mrc1", {peer(2, 1)});
  EXPECT_EQ(count_of(series, address(2)), 3u);
  EXPECT_EQ(count_of(series, address(2), "mrc1"), 1u);
  series.end(1);
  series.drop("mrc1");
  EXPECT_EQ(series.by_peer().count("mrc1"), 0u);
  EXPECT_EQ(series.by_peer().count("mrc0"), 1u);
}

TEST(PeerLatency, a_sum_of_nonsense_does_not_begin_again) {
  LatencySeries series;
  for (ClientId client : {1, 2}) {
    ctl::PeerReport most = peer(2);
    most.completion = delays(3, UINT64_MAX, UINT64_MAX);
    series.report(client, "mrc0", {most});
  }
  EXPECT_EQ(series.by_peer().at("mrc0").at(address(2)).completion.counts[3], UINT64_MAX);
}

std::string metrics_of(const LatencySeries& series) {
  WebState state;
  state.latency = series.all_peers();
  const std::string text = metrics_text(state);
  EXPECT_EQ(complaint_about(text), "") << text;
  return text;
}

TEST(PeerLatency, is_a_histogram_for_prometheus) {
  ctl::PeerReport one = peer(2, 3);
  one.completion.counts[27] = 2;  // longer than the last bucket that has an end
  LatencySeries series;
  series.report(1, "mrc0", {one});
  const std::string text = metrics_of(series);
  for (const char* line : {"mrc_completion_latency_seconds_bucket{device=\"mrc0\",peer=\"all\",le=\"4.096e-06\"} 0\n",
                           "mrc_completion_latency_seconds_bucket{device=\"mrc0\",peer=\"all\",le=\"1.6384e-05\"} 3\n",
                           "mrc_completion_latency_seconds_bucket{device=\"mrc0\",peer=\"all\",le=\"+Inf\"} 5\n",
                           "mrc_completion_latency_seconds_count{device=\"mrc0\",peer=\"all\"} 5\n",
                           "mrc_completion_latency_seconds_sum{device=\"mrc0\",peer=\"all\"} 2.4e-05\n",
                           "mrc_retransmission_delay_seconds_count{device=\"mrc0\",peer=\"all\"} 0\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

// A process may report any counts, whose sum would begin again.
TEST(PeerLatency, buckets_never_fall_whatever_is_reported) {
  ctl::PeerReport most = peer(2, UINT64_MAX);
  most.completion.counts[5] = UINT64_MAX;
  LatencySeries series;
  series.report(1, "mrc0", {most});
  const std::string text = metrics_of(series);
  for (const char* end : {"1.6384e-05", "3.2768e-05", "+Inf"}) {
    const std::string start = std::string("mrc_completion_latency_seconds_bucket{device=\"mrc0\",peer=\"all\",le=\"") +
                              end + "\"} 1844674407";
    EXPECT_NE(text.find(start), std::string::npos) << start << text;
  }
}

}  // namespace
}  // namespace mrc::mrcd
