// One port alone, in virtual time: what it does to packets that wait, on both sides of every threshold
// [MRC-SW-1..3].
#include "egress_port.h"

#include <gtest/gtest.h>

#include <memory>

#include "frames.h"

namespace mrc::softswitch {
namespace {

constexpr uint32_t kHeaders = kEthernetHeader + kIpHeader + kUdpHeader;

struct Left {
  int64_t us;
  TrafficClass tc;
  uint32_t bytes;
  uint8_t dscp, ecn;
};

class EgressPortTest : public testing::Test {
 protected:
  EgressPort& make(const QueueConfig& q) {
    port_ = std::make_unique<EgressPort>(&pool_, &rng_, 1e9, q);
    return *port_;
  }
  Frame* frame(int dscp = 4, uint32_t bytes = kBytes) {
    FrameSpec s;
    s.payload = bytes - kHeaders;
    s.traffic_class = static_cast<uint8_t>(dscp << 2 | 2);
    return parsed(&pool_, s);
  }
  void enqueue(int count, int dscp = 4, Instant now = Instant()) {
    for (int i = 0; i < count; ++i) port_->enqueue(frame(dscp), now);
  }
  // Everything that waits, to the end.
  std::vector<Left> drain() {
    std::vector<Left> all;
    while (port_->line_free() != Instant::never()) {
      const Instant at = port_->line_free();
      Frame* f = port_->finish();
      const uint8_t tc = traffic_class(*f);
      all.push_back({at.ns() / 1000, f->tc, f->bytes, static_cast<uint8_t>(tc >> 2), static_cast<uint8_t>(tc & 3)});
      pool_.release(f);
    }
    return all;
  }
  static std::vector<TrafficClass> classes(const std::vector<Left>& all) {
    std::vector<TrafficClass> seen;
    for (const Left& l : all) seen.push_back(l.tc);
    return seen;
  }

  FramePool pool_{2000, 20000};
  Rng rng_{1};
  std::unique_ptr<EgressPort> port_;
};

using enum TrafficClass;

TEST_F(EgressPortTest, sends_at_its_rate) {
  make({});
  enqueue(3);
  EXPECT_EQ(port_->queued_bytes(), 2 * kBytes);
  const std::vector<Left> all = drain();
  ASSERT_EQ(all.size(), 3u);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(all[static_cast<size_t>(i)].us, 10 * (i + 1));
  EXPECT_EQ(port_->counters().tx_bytes, 3 * kBytes);
  EXPECT_EQ(pool_.live(), 0u);
}

TEST_F(EgressPortTest, another_rate_counts_from_the_next_frame_on) {
  make({});
  enqueue(2);
  port_->set_rate(1e8);
  const std::vector<Left> all = drain();
  EXPECT_EQ(all[0].us, 10);
  EXPECT_EQ(all[1].us, 110);
}

TEST_F(EgressPortTest, without_a_rate_nothing_waits) {
  make({});
  port_->set_rate(0);
  enqueue(3);
  for (const Left& l : drain()) EXPECT_EQ(l.us, 0);
}

TEST_F(EgressPortTest, control_passes_waiting_data) {
  make({});
  enqueue(3);
  enqueue(1, 46);
  EXPECT_EQ(classes(drain()), (std::vector<TrafficClass>{kData, kControl, kData, kData}));
}

TEST_F(EgressPortTest, trims_beyond_its_limit_and_not_at_it) {
  QueueConfig q;
  q.trimming = true;
  q.data_limit = 2 * kBytes;
  q.trim_bytes = 104;
  make(q);
  enqueue(3);  // one on the line, two wait: at the limit
  EXPECT_EQ(port_->counters().trimmed, 0u);
  enqueue(2);
  EXPECT_EQ(port_->counters().trimmed, 2u);
  int trimmed = 0;
  for (const Left& l : drain()) {
    trimmed += l.tc == kTrimmed ? 1 : 0;
    EXPECT_EQ(l.dscp, l.tc == kTrimmed ? 12 : 4);
    EXPECT_EQ(l.bytes, l.tc == kTrimmed ? 104u : kBytes);
    EXPECT_EQ(l.ecn, 2);
  }
  EXPECT_EQ(trimmed, 2);
  EXPECT_EQ(port_->counters().data_drops, 0u);
}

TEST_F(EgressPortTest, the_last_hop_has_a_code_point_of_its_own) {
  QueueConfig q;
  q.trimming = q.last_hop = true;
  q.data_limit = 0;
  make(q);
  enqueue(2);
  const std::vector<Left> all = drain();
  EXPECT_EQ(all[0].dscp, 4) << "nothing waited";
  EXPECT_EQ(all[1].dscp, 16);
}

TEST_F(EgressPortTest, a_packet_trimmed_before_keeps_its_code_point) {
  QueueConfig q;
  q.trimming = q.last_hop = true;
  q.data_limit = 0;
  make(q);
  enqueue(2, 12);
  for (const Left& l : drain()) EXPECT_EQ(l.dscp, 12);
  EXPECT_EQ(port_->counters().trimmed, 0u);
}

TEST_F(EgressPortTest, packets_that_may_not_be_trimmed_are_dropped_beyond_the_drop_limit_and_not_at_it) {
  QueueConfig q;
  q.trimming = true;
  q.data_limit = 2 * kBytes;
  q.drop_limit = 3 * kBytes;
  make(q);
  enqueue(4, 0);
  EXPECT_EQ(port_->counters().data_drops, 0u);
  enqueue(2, 0);
  EXPECT_EQ(port_->counters().data_drops, 2u);
  EXPECT_EQ(drain().size(), 4u);
  EXPECT_EQ(pool_.live(), 0u);
}

TEST_F(EgressPortTest, without_trimming_drops_beyond_the_data_limit) {
  QueueConfig q;
  q.data_limit = 2 * kBytes;
  make(q);
  enqueue(3);
  EXPECT_EQ(port_->counters().data_drops, 0u);
  enqueue(1);
  EXPECT_EQ(port_->counters().data_drops, 1u);
  EXPECT_EQ(port_->counters().trimmed, 0u);
}

TEST_F(EgressPortTest, trimmed_and_control_queues_drop_beyond_their_limits_and_not_at_them) {
  QueueConfig q;
  q.trimming = true;
  q.data_limit = 0;
  q.trim_bytes = 100;
  q.trimmed_limit = 300;
  q.control_limit = 2 * kBytes;
  make(q);
  enqueue(1);  // the line
  enqueue(3);
  EXPECT_EQ(port_->counters().trimmed_drops, 0u);
  enqueue(1);
  EXPECT_EQ(port_->counters().trimmed_drops, 1u);
  enqueue(2, 46);
  EXPECT_EQ(port_->counters().control_drops, 0u);
  enqueue(1, 46);
  EXPECT_EQ(port_->counters().control_drops, 1u);
}

TEST_F(EgressPortTest, marks_by_what_is_left_behind) {
  QueueConfig q;
  q.ecn_min = q.ecn_max = 2 * kBytes;
  make(q);
  enqueue(6);
  // The first found an empty queue; the second leaves four behind, then three, two, one, none.
  std::vector<bool> marked;
  for (const Left& l : drain()) marked.push_back(l.ecn == 3);
  EXPECT_EQ(marked, (std::vector<bool>{false, true, true, false, false, false}));
  EXPECT_EQ(port_->counters().marked, 2u);
}

TEST_F(EgressPortTest, marks_more_often_the_more_waits) {
  QueueConfig q;
  q.ecn_min = 0;
  q.ecn_max = 4000 * kBytes;
  make(q);
  enqueue(4001);
  int early = 0, late = 0;
  int n = 0;
  for (const Left& l : drain()) (n++ < 2000 ? early : late) += l.ecn == 3;
  EXPECT_NEAR(early, 1500, 150);  // three quarters of the range on average
  EXPECT_NEAR(late, 500, 120);
}

TEST_F(EgressPortTest, marks_only_what_says_ect) {
  QueueConfig q;
  q.ecn_min = q.ecn_max = 0;
  make(q);
  FrameSpec deaf;
  deaf.traffic_class = 0;
  for (int i = 0; i < 3; ++i) port_->enqueue(parsed(&pool_, deaf), Instant());
  EXPECT_EQ(drain().size(), 3u);
  EXPECT_EQ(port_->counters().marked, 0u);
}

TEST_F(EgressPortTest, trimmed_packets_have_their_share_while_data_waits) {
  QueueConfig q;
  q.trimming = true;
  q.trimmed_share = 0.25;
  make(q);
  enqueue(41);
  for (int i = 0; i < 200; ++i) port_->enqueue(frame(12, 125), Instant());
  uint64_t data = 0, trimmed = 0;
  for (const Left& l : drain()) {
    (l.tc == kData ? data : trimmed) += l.bytes;
    if (data == 31 * kBytes) break;  // data still waits here
  }
  EXPECT_NEAR(static_cast<double>(trimmed) / static_cast<double>(trimmed + data), 0.25, 0.02);
}

TEST_F(EgressPortTest, the_toss_cuts_either_the_arriving_or_the_newest) {
  QueueConfig q;
  q.trimming = q.trim_random = true;
  q.data_limit = kBytes;
  int newest = 0;
  for (int round = 0; round < 200; ++round) {
    make(q);
    enqueue(2);
    FrameSpec s;
    s.payload = kBytes - kHeaders;
    s.source_port = 999;
    port_->enqueue(parsed(&pool_, s), Instant());
    while (port_->line_free() != Instant::never()) {
      Frame* f = port_->finish();
      newest += f->tc == kTrimmed && word(*f, f->transport) != 999;
      pool_.release(f);
    }
  }
  EXPECT_NEAR(newest, 100, 40);
  EXPECT_EQ(pool_.live(), 0u);
}

TEST_F(EgressPortTest, a_link_that_goes_down_loses_what_waits) {
  make({});
  enqueue(4);
  port_->set_up(false);
  EXPECT_EQ(port_->counters().lost_down, 4u);
  EXPECT_EQ(port_->line_free(), Instant::never());
  enqueue(1);
  EXPECT_EQ(port_->counters().lost_down, 5u);
  EXPECT_EQ(pool_.live(), 0u);
  port_->set_up(true);
  enqueue(1, 4, Instant::from_ns(1000000));
  const std::vector<Left> all = drain();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].us, 1010);
}

}  // namespace
}  // namespace mrc::softswitch
