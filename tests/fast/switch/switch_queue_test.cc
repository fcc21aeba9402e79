// The rules for packets that wait, without a line: both sides of every threshold [MRC-SW-1..3].
#include "sim/queue/switch_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace mrc::queueing {
namespace {

struct Item {
  uint32_t bytes = 1000;
  Item* next = nullptr;
  TrafficClass tc = TrafficClass::kData;
  bool trimmable = true;
  int id = 0;
};

class SwitchQueueTest : public testing::Test {
 protected:
  SwitchQueue<Item>& make(const QueueRules& rules) { return queue_.emplace_back(rules, &rng_); }
  Item* item(TrafficClass tc = TrafficClass::kData, uint32_t bytes = 1000, bool trimmable = true) {
    items_.push_back({bytes, nullptr, tc, trimmable, static_cast<int>(items_.size())});
    return &items_.back();
  }
  Item* offer(Item* p) {
    return queue_.back().offer(p, [](Item* cut) {
      cut->bytes = 100;
      cut->tc = TrafficClass::kTrimmed;
      cut->trimmable = false;
    });
  }
  std::vector<TrafficClass> order() {
    std::vector<TrafficClass> seen;
    while (Item* p = queue_.back().next()) seen.push_back(p->tc);
    return seen;
  }

  Rng rng_{1};
  std::deque<SwitchQueue<Item>> queue_;
  std::deque<Item> items_;
};

using enum TrafficClass;

TEST_F(SwitchQueueTest, control_then_trimmed_then_data) {
  make({});
  for (const TrafficClass tc : {kData, kTrimmed, kControl}) EXPECT_EQ(offer(item(tc)), nullptr);
  EXPECT_EQ(queue_.back().count(), 3u);
  EXPECT_EQ(order(), (std::vector{kControl, kTrimmed, kData}));
  EXPECT_EQ(queue_.back().next(), nullptr);
}

TEST_F(SwitchQueueTest, data_up_to_the_limit_waits_whole_beyond_it_is_trimmed) {
  QueueRules rules;
  rules.trimming = true;
  rules.data_limit = 2000;
  make(rules);
  EXPECT_EQ(offer(item()), nullptr);
  EXPECT_EQ(offer(item()), nullptr);
  EXPECT_EQ(queue_.back().data().bytes(), 2000);
  EXPECT_EQ(offer(item(kData, 1)), nullptr);
  EXPECT_EQ(queue_.back().data().bytes(), 2000);
  EXPECT_EQ(queue_.back().trimmed().bytes(), 100);
}

TEST_F(SwitchQueueTest, without_trimming_data_beyond_the_limit_is_the_callers_again) {
  QueueRules rules;
  rules.data_limit = 2000;
  rules.drop_limit = 3000;  // counts with trimming alone
  make(rules);
  EXPECT_EQ(offer(item(kData, 2000)), nullptr);
  Item* const late = item(kData, 1);
  EXPECT_EQ(offer(late), late);
  EXPECT_EQ(late->tc, kData);
}

TEST_F(SwitchQueueTest, packets_that_may_not_be_trimmed_are_queued_up_to_the_drop_limit) {
  QueueRules rules;
  rules.trimming = true;
  rules.data_limit = 1000;
  rules.drop_limit = 2000;
  make(rules);
  EXPECT_EQ(offer(item(kData, 1000, false)), nullptr);
  EXPECT_EQ(offer(item(kData, 1000, false)), nullptr);
  Item* const late = item(kData, 1, false);
  EXPECT_EQ(offer(late), late);
}

TEST_F(SwitchQueueTest, a_drop_limit_below_the_limit_is_the_limit) {
  QueueRules rules;
  rules.trimming = true;
  rules.data_limit = 1000;
  rules.drop_limit = 500;
  make(rules);
  EXPECT_EQ(offer(item(kData, 1000, false)), nullptr);
}

TEST_F(SwitchQueueTest, trimmed_and_control_have_limits_of_their_own) {
  QueueRules rules;
  rules.trimming = true;
  rules.data_limit = 1000;
  rules.trimmed_limit = 100;
  rules.control_limit = 1000;
  make(rules);
  EXPECT_EQ(offer(item()), nullptr);
  EXPECT_EQ(offer(item()), nullptr);  // trimmed, fits
  Item* const cut = item();
  EXPECT_EQ(offer(cut), cut);  // trimmed, then lost
  EXPECT_EQ(cut->tc, kTrimmed);
  EXPECT_EQ(offer(item(kControl)), nullptr);
  Item* const control = item(kControl, 1);
  EXPECT_EQ(offer(control), control);
}

// The share counts in bytes, for any sizes.
TEST_F(SwitchQueueTest, trimmed_packets_have_their_share_of_the_bytes_while_data_waits) {
  QueueRules rules;
  rules.trimmed_share = 0.25;
  make(rules);
  for (int i = 0; i < 200; ++i) offer(item(kTrimmed, 100));
  for (int i = 0; i < 20; ++i) offer(item());
  int64_t trimmed = 0, data = 0;
  while (!queue_.back().data().empty() && !queue_.back().trimmed().empty()) {
    const Item* const p = queue_.back().next();
    (p->tc == kData ? data : trimmed) += p->bytes;
  }
  EXPECT_NEAR(static_cast<double>(trimmed) / static_cast<double>(trimmed + data), 0.25, 0.03);
}

TEST_F(SwitchQueueTest, a_share_of_all_puts_trimmed_packets_first) {
  QueueRules rules;
  rules.trimmed_share = 1;
  make(rules);
  offer(item());
  for (int i = 0; i < 3; ++i) offer(item(kTrimmed));
  EXPECT_EQ(order(), (std::vector{kTrimmed, kTrimmed, kTrimmed, kData}));
}

TEST_F(SwitchQueueTest, paused_data_stays_and_the_rest_goes) {
  make({});
  offer(item());
  offer(item(kTrimmed));
  offer(item(kTrimmed));
  EXPECT_EQ(queue_.back().next(true)->tc, kTrimmed);
  EXPECT_EQ(queue_.back().next(true)->tc, kTrimmed);
  EXPECT_EQ(queue_.back().next(true), nullptr);
  EXPECT_EQ(queue_.back().next()->tc, kData);
}

TEST_F(SwitchQueueTest, marks_from_never_to_always_by_what_is_left) {
  QueueRules rules;
  rules.ecn_min = 1000;
  rules.ecn_max = 3000;
  make(rules);
  const auto marked_of_1000 = [&] {
    int n = 0;
    for (int i = 0; i < 1000; ++i) n += queue_.back().marks();
    return n;
  };
  offer(item());
  EXPECT_EQ(marked_of_1000(), 0);
  offer(item());
  EXPECT_NEAR(marked_of_1000(), 500, 100);
  offer(item());
  EXPECT_EQ(marked_of_1000(), 1000);
}

TEST_F(SwitchQueueTest, marks_a_share_below_the_upper_threshold_and_all_beyond) {
  QueueRules rules;
  rules.ecn_min = 0;
  rules.ecn_max = 2000;
  rules.ecn_share = 0.1;
  make(rules);
  const auto marked_of_10000 = [&] {
    int n = 0;
    for (int i = 0; i < 10000; ++i) n += queue_.back().marks();
    return n;
  };
  offer(item());
  EXPECT_NEAR(marked_of_10000(), 500, 100);
  offer(item());
  EXPECT_EQ(marked_of_10000(), 10000);
}

TEST_F(SwitchQueueTest, the_toss_cuts_the_newest_or_the_arriving_one) {
  QueueRules rules;
  rules.trimming = rules.trim_random = true;
  rules.data_limit = 1000;
  make(rules);
  offer(item());
  int exchanged = 0;
  for (int i = 0; i < 1000; ++i) {
    const Item* const before = queue_.back().data().front();
    offer(item());
    exchanged += queue_.back().data().front() != before;
    EXPECT_EQ(queue_.back().data().count(), 1u);
  }
  EXPECT_NEAR(exchanged, 500, 100);
}

TEST_F(SwitchQueueTest, take_any_empties_all_queues) {
  make({});
  for (const TrafficClass tc : {kData, kTrimmed, kControl}) offer(item(tc));
  for (int i = 0; i < 3; ++i) EXPECT_NE(queue_.back().take_any(), nullptr);
  EXPECT_EQ(queue_.back().take_any(), nullptr);
  EXPECT_EQ(queue_.back().count(), 0u);
}

}  // namespace
}  // namespace mrc::queueing
