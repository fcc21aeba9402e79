// Histograms that mrcd is told of: since the connection, each request once, and the last ones before a peer goes.
// [MRC-MON-9] Over a daemon's socket: tests/system/unit/device/delay_reports_test.cc.
#include "device/delay_reports.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace mrc::device {
namespace {

using Peers = DelayReports::Peers;

ctl::PeerReport peer_with(uint32_t number, uint64_t completions, const std::string& address = "10.0.0.1") {
  ctl::DelayReport delays{completions * 8000, std::vector<ctl::Whole<uint64_t>>(ctl::DelayReport::kCounts)};
  delays.counts[3] = completions;
  return {number, {address}, {}, delays, {}};
}

uint64_t completions_of(const ctl::PeerReport& peer) {
  return peer.completion.counts.empty() ? 0 : peer.completion.counts[3].number();
}

// The figures of the peers that are there, and of those that were released.
std::pair<Peers, Peers> reported(DelayReports* delays, Peers peers) {
  delays->begin();
  Peers released = delays->next(&peers);
  return {peers, released};
}

TEST(DelayReports, count_from_the_connection) {
  DelayReports delays;
  delays.on_connected();
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 5)}).first.at(0)), 5u);
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 7)}).first.at(0)), 7u);
  delays.on_connected();
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 7), peer_with(2, 3)}).first.at(0)), 0u);
  const Peers peers = reported(&delays, {peer_with(1, 8), peer_with(2, 4)}).first;
  EXPECT_EQ(completions_of(peers.at(0)), 1u);
  EXPECT_EQ(peers.at(0).completion.sum_ns, 8000u);
  EXPECT_EQ(completions_of(peers.at(1)), 4u);
}

TEST(DelayReports, a_released_peer_is_reported_once_more) {
  DelayReports delays;
  delays.on_connected();
  reported(&delays, {peer_with(1, 5), peer_with(2, 1)});
  delays.on_connected();
  delays.on_released(peer_with(1, 6));
  delays.on_released(peer_with(9, 4));  // it came and went between two reports
  auto [peers, released] = reported(&delays, {peer_with(2, 1)});
  EXPECT_EQ(peers.size(), 1u);
  ASSERT_EQ(released.size(), 2u);
  EXPECT_EQ(completions_of(released[0]), 1u);
  EXPECT_EQ(completions_of(released[1]), 4u);
  EXPECT_TRUE(reported(&delays, {peer_with(2, 1)}).second.empty());
}

TEST(DelayReports, figures_not_reported_to_a_connection_go_to_the_next_one) {
  DelayReports delays;
  delays.on_connected();
  reported(&delays, {peer_with(1, 5)});
  delays.on_released(peer_with(1, 8));
  delays.on_connected();
  EXPECT_EQ(completions_of(reported(&delays, {}).second.at(0)), 3u);
}

TEST(DelayReports, a_number_that_is_used_again_is_another_peer) {
  DelayReports delays;
  delays.on_connected();
  reported(&delays, {peer_with(1, 5)});
  delays.on_connected();
  delays.on_released(peer_with(1, 5));
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 6)}).first.at(0)), 6u);
  delays.on_connected();
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 2)}).first.at(0)), 2u) << "released unseen: it has fallen";
}

TEST(DelayReports, a_peer_that_is_released_during_a_report_is_in_it_once) {
  DelayReports delays;
  delays.on_connected();
  delays.begin();
  Peers peers = {peer_with(1, 5), peer_with(2, 1)};
  delays.on_released(peer_with(1, 6));
  const Peers released = delays.next(&peers);
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_EQ(peers[0].peer, 2u);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(completions_of(released[0]), 6u);
}

TEST(DelayReports, keeps_a_limited_number_of_released_peers) {
  DelayReports delays;
  for (uint32_t i = 0; i <= DelayReports::kMaxReleased; ++i) delays.on_released(peer_with(i, 1));
  EXPECT_EQ(reported(&delays, {}).second.size(), DelayReports::kMaxReleased);
}

}  // namespace
}  // namespace mrc::device
