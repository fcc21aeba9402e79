// When a keepalive is needed, and when the peer has ended.
#include "peer_monitor.h"

#include <gtest/gtest.h>

namespace mrc::nccl {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = PeerMonitor::Verdict;

class PeerMonitorTest : public testing::Test {
 protected:
  PeerMonitorTest() { monitor_.start(begin_); }
  Verdict assess(milliseconds at) { return monitor_.assess(begin_ + at); }

  const PeerMonitor::Clock::time_point begin_ = PeerMonitor::Clock::time_point(seconds(1000));
  PeerMonitor monitor_{seconds(1), seconds(10)};
};

TEST_F(PeerMonitorTest, due__at_once_then_after_each_interval) {
  EXPECT_TRUE(monitor_.due(begin_));
  assess(milliseconds(0));
  EXPECT_FALSE(monitor_.due(begin_ + PeerMonitor::kInterval - milliseconds(1)));
  EXPECT_TRUE(monitor_.due(begin_ + PeerMonitor::kInterval));
}

TEST_F(PeerMonitorTest, assess__needs_a_keepalive_after_silence_and_one_at_a_time) {
  EXPECT_EQ(assess(milliseconds(9999)), Verdict::kAlive);
  EXPECT_EQ(assess(seconds(10)), Verdict::kNeedsKeepalive);
  EXPECT_EQ(assess(seconds(11)), Verdict::kNeedsKeepalive) << "none has been posted";
  monitor_.note_keepalive_posted();
  EXPECT_EQ(assess(seconds(30)), Verdict::kAlive);
  monitor_.note_keepalive_completed();
  monitor_.note_completion();
  EXPECT_EQ(assess(seconds(31)), Verdict::kAlive);
  EXPECT_EQ(assess(milliseconds(40999)), Verdict::kAlive);
  EXPECT_EQ(assess(seconds(41)), Verdict::kNeedsKeepalive);
}

TEST_F(PeerMonitorTest, assess__a_completion_counts_from_the_next_assessment) {
  monitor_.note_completion();
  EXPECT_EQ(assess(seconds(12)), Verdict::kAlive);
  EXPECT_EQ(assess(milliseconds(21999)), Verdict::kAlive);
  EXPECT_EQ(assess(seconds(22)), Verdict::kNeedsKeepalive);
}

TEST_F(PeerMonitorTest, assess__never_needs_a_keepalive_without_an_interval) {
  PeerMonitor without(seconds(1), seconds(0));
  without.start(begin_);
  EXPECT_EQ(without.assess(begin_ + seconds(100000)), Verdict::kAlive);
}

TEST_F(PeerMonitorTest, assess__a_closed_peer_has_ended_after_the_peer_timeout_and_is_sent_nothing) {
  assess(milliseconds(0));
  monitor_.note_closed(begin_ + seconds(20));
  EXPECT_TRUE(monitor_.closed());
  EXPECT_EQ(assess(seconds(20)), Verdict::kAlive);
  monitor_.note_completion();
  EXPECT_EQ(assess(milliseconds(20999)), Verdict::kAlive);
  monitor_.note_completion();
  EXPECT_EQ(assess(seconds(21)), Verdict::kEnded);
}

TEST_F(PeerMonitorTest, assess__without_a_peer_timeout_ends_at_once) {
  PeerMonitor strict(milliseconds(0), seconds(10));
  strict.start(begin_);
  strict.note_closed(begin_);
  EXPECT_EQ(strict.assess(begin_), Verdict::kEnded);
}

}  // namespace

}  // namespace mrc::nccl
