// Records of sent packets, and the pool that lends them to QPs which are sending.
#include "core/tx_window.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

TEST(TxWindow, size_is_the_next_power_of_two) {
  for (auto [asked, got] : {std::pair{1u, 64u}, {64u, 64u}, {65u, 128u}, {129u, 256u}, {4097u, 8192u}})
    EXPECT_EQ(TxWindow(asked).size(), got) << asked;
}

TEST(TxWindow, sequence_numbers_share_a_record_only_a_window_apart) {
  TxWindow w(64);
  const uint64_t first = (1ull << 32) - 10;  // the counter of packets passes 32 bits unharmed
  for (uint64_t s = first; s < first + 64; ++s) w[s].nominal = static_cast<uint16_t>(s - first);
  for (uint64_t s = first; s < first + 64; ++s) EXPECT_EQ(w[s].nominal, s - first);
  EXPECT_EQ(&w[first], &w[first + 64]);
  EXPECT_NE(&w[first], &w[first + 63]);
}

// Of a lateness of some milliseconds each microsecond counts; of longer times a 2048th is enough, and none is cut off.
TEST(TxRecord, remembers_when_the_first_copy_was_sent) {
  for (const int64_t us : {1, 50, 4000, 67000, 500000, 16000000, 120000000}) {
    TxRecord r;
    const Instant first = Instant::from_ns(5000);
    r.on_sent(first);
    Instant last = first;
    for (int copies = 1; copies <= 3; ++copies) {
      last = first + Duration::microseconds(us) * copies / 3;
      r.on_sent_again(last);
      const Duration early = first - r.first_sent_at();
      EXPECT_GE(early, Duration()) << us;
      EXPECT_LE(early, Duration::nanoseconds(1024) * copies + (us > 4000 ? (last - first) * copies / 2048 : Duration()))
          << us << " us, copy " << copies;
    }
  }
}

TEST(TxWindowPool, lends_again_what_fits) {
  TxWindowPool pool;
  auto w = pool.take(129);
  TxWindow* const kept = w.get();
  pool.give(std::move(w));
  EXPECT_NE(pool.take(257).get(), kept);  // too small
  w = pool.take(65);                      // twice what is needed is no waste
  EXPECT_EQ(w.get(), kept);
  pool.give(std::move(w));
  EXPECT_NE(pool.take(64).get(), kept);  // four times is
  EXPECT_EQ(pool.take(256).get(), kept);
}

TEST(TxWindowPool, a_lent_window_is_not_lent_twice) {
  TxWindowPool pool;
  auto a = pool.take(64);
  auto b = pool.take(64);
  EXPECT_NE(a.get(), b.get());
  TxWindow* const first = a.get();
  TxWindow* const second = b.get();
  pool.give(std::move(a));
  pool.give(std::move(b));
  a = pool.take(64);
  b = pool.take(64);
  EXPECT_NE(a.get(), b.get());
  EXPECT_TRUE((a.get() == first && b.get() == second) || (a.get() == second && b.get() == first));
}

TEST(TxWindowPool, holds_no_empty_place) {
  TxWindowPool pool;
  pool.give(pool.take(64));
  pool.check();
  pool.give(nullptr);
  if (kCheckInvariants) {
    EXPECT_DEATH(pool.check(), "w != nullptr");
  }
}

}  // namespace
}  // namespace mrc::core
