// The order of events, whichever part of the queue they lie in.
#include "sim/model/calendar_queue.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace mrc::sim {
namespace {

struct Event {
  struct Key {
    uint64_t m_ts = 0;
    uint32_t m_uid = 0;
  } key;
};

constexpr uint64_t kNs = 1000, kUs = 1000 * kNs, kMs = 1000 * kUs;

TEST(CalendarQueue, events_come_by_time_then_by_order_of_insertion) {
  CalendarQueue<Event> q;
  EXPECT_TRUE(q.empty());
  uint32_t uid = 0;
  for (const uint64_t ts : {5 * kMs, 3 * kNs, 70 * kUs, 3 * kNs, 1 * kNs, 5 * kMs, 60 * kUs}) q.insert({{ts, uid++}});
  std::vector<uint32_t> order;
  while (!q.empty()) {
    const uint32_t first = q.front().key.m_uid;
    EXPECT_EQ(first, q.ahead(0)->key.m_uid);
    order.push_back(q.pop().key.m_uid);
  }
  EXPECT_EQ(order, (std::vector<uint32_t>{4, 1, 3, 6, 2, 0, 5}));
}

TEST(CalendarQueue, an_earlier_event_passes_those_that_wait_already) {
  CalendarQueue<Event> q;
  q.insert({{10 * kUs, 1}});
  q.insert({{2 * kUs, 2}});
  q.insert({{9 * kMs, 3}});
  EXPECT_EQ(q.pop().key.m_uid, 2u);
  q.insert({{3 * kUs, 4}});
  EXPECT_EQ(q.pop().key.m_uid, 4u);
  EXPECT_EQ(q.pop().key.m_uid, 1u);
  q.insert({{20 * kUs, 5}});
  EXPECT_EQ(q.pop().key.m_uid, 5u);
  EXPECT_EQ(q.pop().key.m_uid, 3u);
  EXPECT_TRUE(q.empty());
}

TEST(CalendarQueue, any_event_can_be_removed) {
  CalendarQueue<Event> q;
  const uint64_t times[] = {kNs, 2 * kNs, 30 * kUs, 40 * kUs, 8 * kMs, 9 * kMs};
  for (uint32_t i = 0; i < 6; ++i) q.insert({{times[i], i}});
  for (const uint32_t uid : {0, 2, 5}) q.remove(uid);
  for (const uint32_t uid : {1, 3, 4}) EXPECT_EQ(q.pop().key.m_uid, uid);
  EXPECT_TRUE(q.empty());
}

// Beside a sorted list, with times from the present instant to far beyond the buckets.
TEST(CalendarQueue, keeps_the_order_of_a_sorted_list) {
  Rng rng(7);
  CalendarQueue<Event> q;
  std::vector<std::pair<uint64_t, uint32_t>> list;
  uint64_t now = 0;
  for (uint32_t uid = 0; uid < 20000 || !list.empty(); ++uid) {
    if (uid < 20000)
      for (const uint64_t reach : {uint64_t{1}, 500 * kNs, 60 * kUs, 70 * kUs, 3 * kMs}) {
        if (rng.below(4) != 0) continue;
        const uint64_t ts = now + rng.next() % reach;
        const uint32_t id = uid * 8 + static_cast<uint32_t>(list.size() % 8);
        q.insert({{ts, id}});
        list.push_back({ts, id});
      }
    if (list.empty()) continue;
    const auto first = std::min_element(list.begin(), list.end());
    const Event ev = q.pop();
    ASSERT_EQ(std::make_pair(ev.key.m_ts, ev.key.m_uid), *first);
    now = first->first;
    list.erase(first);
  }
  EXPECT_TRUE(q.empty());
}

}  // namespace
}  // namespace mrc::sim
