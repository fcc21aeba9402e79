#include "core/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/rng.h"

namespace mrc::core {
namespace {

Instant at(int64_t n) {
  return Instant::from_ns(n);
}

TEST(TimerHeap, empty_never_fires) {
  TimerHeap h;
  EXPECT_EQ(h.next(), Instant::never());
  EXPECT_EQ(h.pop_due(at(INT64_MAX / 4)), nullptr);
}

TEST(TimerHeap, fires_at_its_time_and_once) {
  TimerHeap h;
  TimerNode n;
  h.set(&n, at(10));
  EXPECT_EQ(h.next(), at(10));
  EXPECT_EQ(h.pop_due(at(9)), nullptr);
  EXPECT_EQ(h.pop_due(at(10)), &n);
  EXPECT_EQ(h.pop_due(at(10)), nullptr);
  EXPECT_EQ(h.next(), Instant::never());
}

TEST(TimerHeap, moves_earlier_and_later) {
  TimerHeap h;
  TimerNode a, b;
  h.set(&a, at(10));
  h.set(&b, at(20));
  h.set(&b, at(5));
  EXPECT_EQ(h.next(), at(5));
  h.set(&b, at(30));
  EXPECT_EQ(h.next(), at(10));
  EXPECT_EQ(h.pop_due(at(40)), &a);
  EXPECT_EQ(h.pop_due(at(29)), nullptr);
  EXPECT_EQ(h.pop_due(at(30)), &b);
}

TEST(TimerHeap, never_disarms) {
  TimerHeap h;
  TimerNode a, b;
  h.set(&a, at(10));
  h.set(&b, at(11));
  h.set(&a, Instant::never());
  EXPECT_EQ(h.next(), at(11));
  h.set(&a, at(3));
  EXPECT_EQ(h.next(), at(3));
}

TEST(TimerHeap, remove_from_any_place) {
  TimerHeap h;
  std::vector<TimerNode> n(9);
  for (size_t i = 0; i < n.size(); ++i) h.set(&n[i], at(static_cast<int64_t>(10 * i)));
  h.remove(&n[0]);
  h.remove(&n[4]);
  h.remove(&n[8]);
  h.remove(&n[8]);
  std::vector<TimerNode*> order;
  while (TimerNode* due = h.pop_due(at(1000))) order.push_back(due);
  EXPECT_EQ(order, (std::vector<TimerNode*>{&n[1], &n[2], &n[3], &n[5], &n[6], &n[7]}));
}

// Against a list that is searched: random sets, removals and the passing of time.
TEST(TimerHeap, agrees_with_a_list) {
  Rng rng(11);
  TimerHeap h;
  std::vector<TimerNode> n(40);
  std::vector<Instant> want(n.size(), Instant::never());
  Instant now;
  for (int step = 0; step < 20000; ++step) {
    const size_t i = rng.below(40);
    switch (rng.below(4)) {
      case 0:
        h.remove(&n[i]);
        want[i] = Instant::never();
        break;
      case 1:
        now = now + Duration::nanoseconds(rng.below(50));
        break;
      default:
        want[i] = rng.chance(0.1) ? Instant::never() : now + Duration::nanoseconds(rng.below(300));
        h.set(&n[i], want[i]);
        break;
    }
    ASSERT_EQ(h.next(), *std::min_element(want.begin(), want.end()));
    while (TimerNode* due = h.pop_due(now)) {
      const size_t k = static_cast<size_t>(due - n.data());
      ASSERT_LE(want[k], now);
      ASSERT_EQ(want[k], *std::min_element(want.begin(), want.end()));
      want[k] = Instant::never();
    }
    ASSERT_GT(*std::min_element(want.begin(), want.end()), now);
  }
}

}  // namespace
}  // namespace mrc::core
