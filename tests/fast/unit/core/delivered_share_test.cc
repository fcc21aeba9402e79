// The share of its packets that a plane delivers. [MRC-EVS-20]
#include "core/delivered_share.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

constexpr uint32_t kWhole = DeliveredShare::kWhole;

void count(DeliveredShare* share, bool delivered) {
  delivered ? share->on_delivered() : share->on_lost();
}

TEST(delivered_share, is_that_of_packets_whatever_their_bursts) {
  for (const uint32_t burst : {1u, 15u, 60u}) {
    DeliveredShare share;
    EXPECT_EQ(share.value(), kWhole);
    share.on_sent(burst);
    for (uint32_t i = 0; i < burst * DeliveredShare::kBursts * 8; ++i) count(&share, i % 4 != 0);
    EXPECT_NEAR(share.value(), kWhole * 0.75, kWhole * 0.01) << burst;
    for (uint32_t i = 0; i < burst * DeliveredShare::kBursts * 8; ++i) share.on_delivered();
    EXPECT_NEAR(share.value(), kWhole, kWhole * 0.01) << burst;
    EXPECT_LE(share.value(), kWhole);
  }
}

TEST(delivered_share, packets_together_count_as_one_after_the_other) {
  for (const int lost : {0, 100}) {
    DeliveredShare together, singly;
    const auto both = [&](int deliveries, int losses) {
      together.on_delivered(static_cast<uint32_t>(deliveries));
      for (int i = 0; i < deliveries; ++i) singly.on_delivered();
      for (DeliveredShare* share : {&together, &singly})
        for (int i = 0; i < losses; ++i) share->on_lost();
      EXPECT_EQ(together.value(), singly.value()) << lost;
      EXPECT_EQ(together.tested(), singly.tested()) << lost;
    };
    both(0, lost);
    both(DeliveredShare::kBursts - 4, 0);
    both(8, 1);  // tested by now, where none was lost with the share at its maximum
    both(8, 0);
  }
}

// A host may lose it as one.
TEST(delivered_share, a_lost_burst_weighs_the_same_whatever_its_packets) {
  for (const uint32_t burst : {1u, 15u, 60u}) {
    DeliveredShare share;
    share.on_sent(burst);
    for (uint32_t i = 0; i < burst; ++i) share.on_lost();
    EXPECT_NEAR(share.value(), kWhole - kWhole / DeliveredShare::kBursts, kWhole * 0.0001) << burst;
  }
}

TEST(delivered_share, the_largest_burst_lately_counts) {
  DeliveredShare share;
  share.on_sent(60);
  share.on_sent(1);
  share.on_lost();
  EXPECT_GT(share.value(), kWhole - kWhole / DeliveredShare::kBursts / 50);
  for (int i = 0; i < 100; ++i) share.on_sent(1);
  const uint32_t before = share.value();
  share.on_lost();
  EXPECT_NEAR(share.value(), before - kWhole / DeliveredShare::kBursts, 100);
}

TEST(delivered_share, a_refuted_loss_is_taken_back) {
  DeliveredShare share;
  for (int i = 0; i < 300; ++i) count(&share, i % 2 == 0);
  const uint32_t before = share.value();
  for (int i = 0; i < 20; ++i) share.on_lost();
  EXPECT_LT(share.value(), before / 100 * 93);
  for (int i = 0; i < 20; ++i) share.on_loss_refuted();
  EXPECT_NEAR(share.value(), before, before * 0.001);
  for (int i = 0; i < 2000; ++i) share.on_loss_refuted();
  EXPECT_EQ(share.value(), kWhole);
}

TEST(delivered_share, is_tested_when_as_much_was_counted_as_it_averages) {
  DeliveredShare packets, probes;
  for (uint32_t i = 0; i < DeliveredShare::kBursts - 1; ++i) count(&packets, i % 2 == 0);
  for (uint32_t i = 0; i < DeliveredShare::kProbes - 1; ++i) probes.on_probe(false);
  for (DeliveredShare* share : {&packets, &probes}) EXPECT_FALSE(share->tested());
  packets.on_delivered();
  probes.on_probe(false);
  for (DeliveredShare* share : {&packets, &probes}) {
    const uint32_t value = share->value();
    EXPECT_TRUE(share->tested());
    share->retest();
    EXPECT_FALSE(share->tested());
    EXPECT_EQ(share->value(), value);
  }
}

TEST(delivered_share, a_probe_has_a_sixteenth_of_the_weight) {
  DeliveredShare share;
  share.on_sent(60);
  share.on_probe(false);
  EXPECT_EQ(share.value(), kWhole / 16 * 15);
  share.on_probe(true);
  EXPECT_EQ(share.value(), kWhole / 256 * 241);
}

}  // namespace
}  // namespace mrc::core
