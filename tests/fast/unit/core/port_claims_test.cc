// A peer's reports about its ports against the results of probes: both sides of each threshold. [MRC-PORT-1]
// [MRC-PORT-3..5]
#include "core/port_claims.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

constexpr Duration kDownProbeInterval = Duration::milliseconds(400);
constexpr Duration kTick = Duration::nanoseconds(1);

using Proof = PortClaims::Proof;

class PortClaimsTest : public testing::Test {
 protected:
  PlaneSet asked() {
    PlaneSet planes;
    while (const std::optional<PlaneId> plane = claims_.take_due(now_)) {
      planes.insert(*plane);
      ++probes_;
    }
    return planes;
  }
  bool report(PlaneSet up) { return claims_.on_report(now_, up, probeable_); }
  void refute(PlaneId plane, Duration age = kTick) {
    const Instant sent = now_;
    now_ = now_ + age;
    EXPECT_EQ(claims_.on_answer(now_, plane, sent), Proof::kRefuted);
  }
  // Claimed and not answered.
  void take_down(PlaneSet up) {
    report(up);
    asked();
    now_ = now_ + PortClaims::kProbeTimeout;
    claims_.expire(now_);
  }

  Instant now_ = Instant::from_ns(1000);
  PlaneSet probeable_ = 0b1111_planes;
  int probes_ = 0;
  PortClaims claims_{4, kDownProbeInterval};
};

TEST_F(PortClaimsTest, on_report__claims_and_asks_at_once_and_once) {
  EXPECT_TRUE(report(0b1011_planes));
  EXPECT_EQ(claims_.claimed(), 0b0100_planes);
  EXPECT_EQ(claims_.down(), PlaneSet());
  EXPECT_EQ(asked(), 0b0100_planes);
  EXPECT_EQ(probes_, PortClaims::kProbes);
  EXPECT_TRUE(report(0b1011_planes));
  EXPECT_EQ(asked(), PlaneSet());
}

TEST_F(PortClaimsTest, expire__leaves_the_plane_at_the_probe_timeout) {
  report(0b1011_planes);
  asked();
  now_ = now_ + PortClaims::kProbeTimeout - kTick;
  EXPECT_EQ(claims_.expire(now_), PlaneSet());
  EXPECT_EQ(claims_.down(), PlaneSet());
  EXPECT_EQ(claims_.next_time(), now_ + kTick);
  now_ = now_ + kTick;
  EXPECT_EQ(claims_.expire(now_), 0b0100_planes);
  EXPECT_EQ(claims_.claimed(), PlaneSet());
  EXPECT_EQ(claims_.down(), 0b0100_planes);
  EXPECT_EQ(claims_.expire(now_), PlaneSet());
}

TEST_F(PortClaimsTest, expire__proves_nothing_without_a_probe) {
  report(0b1011_planes);
  while (const std::optional<PlaneId> plane = claims_.take_due(now_)) claims_.on_unsent(*plane);
  EXPECT_EQ(claims_.expire(now_ + PortClaims::kProbeTimeout), PlaneSet());
  EXPECT_EQ(claims_.claimed() | claims_.down(), PlaneSet());
}

TEST_F(PortClaimsTest, on_report__is_taken_for_planes_that_carry_no_probe) {
  probeable_ = 0b1011_planes;
  EXPECT_TRUE(report(0b1011_planes));
  EXPECT_EQ(claims_.down(), 0b0100_planes);
}

TEST_F(PortClaimsTest, on_answer__counts_when_the_probe_was_sent_after_the_word) {
  report(0b1011_planes);
  EXPECT_EQ(claims_.on_answer(now_, 2_plane, now_ - kTick), Proof::kNone);
  EXPECT_EQ(claims_.on_answer(now_, 1_plane, now_), Proof::kNone);  // another plane
  EXPECT_EQ(claims_.claimed(), 0b0100_planes);
  EXPECT_EQ(claims_.on_answer(now_, 2_plane, now_), Proof::kRefuted);
  EXPECT_EQ(claims_.claimed(), PlaneSet());
  EXPECT_EQ(claims_.on_answer(now_, 2_plane, now_), Proof::kNone);
}

// A peer that is slow to answer loses its plane for no longer than its round trip.
TEST_F(PortClaimsTest, on_answer__counts_when_it_is_late) {
  const Instant sent = now_;
  take_down(0b1011_planes);
  EXPECT_EQ(claims_.on_answer(now_ + kDownProbeInterval, 2_plane, sent), Proof::kRefuted);
  EXPECT_EQ(claims_.down(), PlaneSet());
}

TEST_F(PortClaimsTest, on_answer__of_a_later_probe_is_no_refutation) {
  take_down(0b1011_planes);
  EXPECT_EQ(claims_.on_answer(now_ + kTick, 2_plane, now_), Proof::kRestored);
  EXPECT_TRUE(report(0b1011_planes));
  EXPECT_EQ(claims_.claimed(), 0b0100_planes);
}

TEST_F(PortClaimsTest, on_report__is_ignored_for_a_while_that_doubles_with_each_refutation) {
  Duration hold = PortClaims::kFirstHold;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(report(0b1011_planes)) << i;
    asked();
    refute(2_plane);
    now_ = now_ + hold - kTick;
    EXPECT_FALSE(report(0b1011_planes)) << i;
    EXPECT_EQ(claims_.claimed(), PlaneSet());
    EXPECT_TRUE(report(0b1111_planes));
    EXPECT_EQ(asked(), PlaneSet());
    now_ = now_ + kTick;
    if (i < PortClaims::kMaxHoldDoublings) hold = hold * 2;
  }
}

TEST_F(PortClaimsTest, on_report__of_one_plane_is_not_held_against_another) {
  report(0b1011_planes);
  refute(2_plane);
  EXPECT_FALSE(report(0b0011_planes));
  EXPECT_EQ(claims_.claimed(), 0b1000_planes);
}

TEST_F(PortClaimsTest, expire__forgives_earlier_refutations) {
  for (int i = 0; i < 3; ++i) {
    report(0b1011_planes);
    asked();
    refute(2_plane);
    now_ = now_ + Duration::seconds(10);
  }
  take_down(0b1011_planes);
  EXPECT_EQ(claims_.on_answer(now_, 2_plane, now_), Proof::kRestored);
  report(0b1011_planes);
  refute(2_plane);
  now_ = now_ + PortClaims::kFirstHold;
  EXPECT_TRUE(report(0b1011_planes));
}

// Probes of a claim that had not left are not sent after it was decided.
TEST_F(PortClaimsTest, take_due__drops_the_probes_of_a_claim_that_is_decided) {
  report(0b1011_planes);
  ASSERT_TRUE(claims_.take_due(now_));
  EXPECT_EQ(claims_.on_answer(now_, 2_plane, now_), Proof::kRefuted);
  EXPECT_EQ(asked(), PlaneSet());
  now_ = now_ + Duration::seconds(10);
  report(0b1011_planes);
  ASSERT_TRUE(claims_.take_due(now_));
  now_ = now_ + PortClaims::kProbeTimeout;
  EXPECT_EQ(claims_.expire(now_), 0b0100_planes);
  EXPECT_EQ(asked(), PlaneSet());
}

// [MRC-PORT-3]
TEST_F(PortClaimsTest, take_due__asks_a_plane_that_is_down_once_per_interval) {
  take_down(0b1011_planes);
  EXPECT_EQ(asked(), PlaneSet());
  now_ = now_ + kDownProbeInterval - kTick;
  EXPECT_EQ(asked(), PlaneSet());
  now_ = now_ + kTick;
  EXPECT_EQ(asked(), 0b0100_planes);
  EXPECT_EQ(asked(), PlaneSet());
  EXPECT_EQ(claims_.next_time(), now_ + kDownProbeInterval);
}

// [MRC-PORT-4]
TEST_F(PortClaimsTest, take_due__asks_at_once_when_the_peer_calls_the_plane_up_and_not_much_more_often) {
  take_down(0b1011_planes);
  report(0b1111_planes);
  EXPECT_EQ(claims_.down(), 0b0100_planes);
  EXPECT_EQ(asked(), 0b0100_planes);
  report(0b1111_planes);
  EXPECT_EQ(asked(), PlaneSet());
  now_ = now_ + kDownProbeInterval / 8 - kTick;
  EXPECT_EQ(asked(), PlaneSet());
  now_ = now_ + kTick;
  EXPECT_EQ(asked(), 0b0100_planes);
}

TEST_F(PortClaimsTest, take_due__asks_at_once_when_the_word_was_taken_back_in_the_meantime) {
  report(0b1011_planes);
  asked();
  report(0b1111_planes);
  now_ = now_ + PortClaims::kProbeTimeout;
  claims_.expire(now_);
  EXPECT_EQ(asked(), 0b0100_planes);
}

}  // namespace
}  // namespace mrc::core
