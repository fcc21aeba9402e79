// Payloads that wait for earlier packets, and the pool that their copies come from. [MRC-RSP-15]
#include "core/early_payloads.h"

#include <gtest/gtest.h>

#include <string>

namespace mrc::core {
namespace {

constexpr uint32_t kWindow = 64;

class EarlyPayloadsTest : public testing::Test {
 protected:
  void put(uint64_t seq, const std::string& text) {
    early_.put(seq, early_.copy(1000 + seq, Key(7), reinterpret_cast<const uint8_t*>(text.data()),
                                static_cast<uint32_t>(text.size()), kWindow));
  }
  static std::string text_of(const EarlyPayload& payload) { return {payload.bytes.begin(), payload.bytes.end()}; }

  EarlyPayloadPool pool_;
  EarlyPayloads early_{&pool_};
};

TEST_F(EarlyPayloadsTest, each_is_taken_once_by_its_number) {
  EXPECT_EQ(early_.take(5), nullptr);  // without room for any
  put(5, "five");
  put(7, "seven");
  early_.check();
  EXPECT_EQ(early_.count(), 2u);
  EXPECT_EQ(early_.take(6), nullptr);
  const auto five = early_.take(5);
  ASSERT_NE(five, nullptr);
  EXPECT_EQ(text_of(*five), "five");
  EXPECT_EQ(five->va, 1005u);
  EXPECT_EQ(five->rkey, Key(7));
  EXPECT_EQ(early_.take(5), nullptr);
  EXPECT_EQ(text_of(*early_.take(7)), "seven");
  EXPECT_FALSE(early_.any());
  early_.check();
}

TEST_F(EarlyPayloadsTest, a_window_of_them_waits_at_once) {
  const uint64_t first = (1ull << 32) - 10;
  for (uint64_t seq = first; seq < first + kWindow; ++seq) put(seq, std::to_string(seq));
  for (uint64_t seq = first; seq < first + kWindow; ++seq) EXPECT_EQ(text_of(*early_.take(seq)), std::to_string(seq));
}

TEST_F(EarlyPayloadsTest, a_copy_that_is_given_back_is_used_again) {
  put(1, "long enough for an allocation of its own");
  auto first = early_.take(1);
  const EarlyPayload* const at = first.get();
  const uint8_t* const bytes = first->bytes.data();
  early_.give_back(std::move(first));
  EXPECT_EQ(pool_.kept(), 1u);
  put(2, "short");
  const auto second = early_.take(2);
  EXPECT_EQ(second.get(), at);
  EXPECT_EQ(second->bytes.data(), bytes);
  EXPECT_EQ(text_of(*second), "short");
}

TEST_F(EarlyPayloadsTest, the_pool_is_bounded) {
  std::vector<std::unique_ptr<EarlyPayload>> taken;
  for (size_t i = 0; i <= EarlyPayloadPool::kMaxKept; ++i) taken.push_back(pool_.take());
  for (size_t i = 0; i < EarlyPayloadPool::kMaxKept; ++i) pool_.give(std::move(taken[i]));
  EXPECT_EQ(pool_.kept(), EarlyPayloadPool::kMaxKept);
  pool_.give(std::move(taken.back()));
  EXPECT_EQ(pool_.kept(), EarlyPayloadPool::kMaxKept);
}

TEST_F(EarlyPayloadsTest, cleared_ones_do_not_wait_any_more) {
  for (uint64_t seq : {3, 4, 9}) put(seq, "gone");
  early_.clear();
  EXPECT_FALSE(early_.any());
  EXPECT_EQ(pool_.kept(), 3u);
  for (uint64_t seq : {3, 4, 9}) EXPECT_EQ(early_.take(seq), nullptr);
  early_.check();
}

TEST_F(EarlyPayloadsTest, places_are_the_pools_while_nothing_waits) {
  put(1, "one");
  put(2, "two");
  EXPECT_NE(early_.take(1), nullptr);
  EXPECT_EQ(pool_.windows_kept(), 0u);
  EXPECT_NE(early_.take(2), nullptr);
  EXPECT_EQ(pool_.windows_kept(), 1u);
  EarlyPayloads another(&pool_);
  const uint8_t byte = 1;
  another.put(3, another.copy(3, Key(7), &byte, 1, kWindow));
  EXPECT_EQ(pool_.windows_kept(), 0u);
  EXPECT_EQ(another.take(3 + 1), nullptr);
  another.clear();
  EXPECT_EQ(pool_.windows_kept(), 1u);
}

TEST_F(EarlyPayloadsTest, the_pool_finds_a_window_of_the_size_among_others) {
  for (const size_t places : {kWindow, 2 * kWindow, kWindow}) pool_.give_window(EarlyPayloadPool::Window(places));
  EXPECT_EQ(pool_.take_window(2 * kWindow).size(), 2 * kWindow);
  EXPECT_EQ(pool_.windows_kept(), 2u);
  EXPECT_EQ(pool_.take_window(2 * kWindow).size(), 2 * kWindow);
  EXPECT_EQ(pool_.windows_kept(), 2u);
  EXPECT_EQ(pool_.take_window(kWindow).size(), kWindow);
  EXPECT_EQ(pool_.windows_kept(), 1u);
}

TEST_F(EarlyPayloadsTest, the_pool_keeps_few_windows) {
  for (size_t i = 0; i <= EarlyPayloadPool::kMaxWindowsKept; ++i) pool_.give_window(EarlyPayloadPool::Window(kWindow));
  EXPECT_EQ(pool_.windows_kept(), EarlyPayloadPool::kMaxWindowsKept);
}

// Wider windows than that of the pool.
TEST_F(EarlyPayloadsTest, the_next_window_may_be_wider) {
  put(0, "gone");
  early_.clear();
  const uint8_t byte = 1;
  for (uint64_t seq : {uint64_t{0}, uint64_t{kWindow}})
    early_.put(seq, early_.copy(seq, Key(7), &byte, 1, 2 * kWindow));
  EXPECT_EQ(early_.take(0)->va, 0u);
  EXPECT_EQ(early_.take(kWindow)->va, kWindow);
}

}  // namespace
}  // namespace mrc::core
