// When a packet counts as lost, and what widens and narrows the reordering window. [MRC-LOSS-1]
#include "core/loss_detector.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

constexpr Duration us(int64_t n) {
  return Duration::microseconds(n);
}
constexpr Instant at(int64_t n) {
  return Instant::from_ns(n * 1000);
}

class LossDetectorTest : public ::testing::Test {
 protected:
  LossDetectorTest() {
    rtt_.on_sample(us(100));
    detector_.on_round_trip(us(100));  // its variation is 50 us
  }
  Duration window(int64_t now) { return detector_.window(at(now), rtt_, us(10)); }
  void settle() {  // the first epoch is over
    window(0);
    window(1600);
  }
  RttEstimator rtt_;
  LossDetector detector_;
};

TEST_F(LossDetectorTest, WithoutARoundTripTheWindowIsAMillisecond) {
  EXPECT_EQ(detector_.window(at(0), RttEstimator(), us(10)), LossDetector::kUnknown);
  EXPECT_EQ(detector_.window(at(0), RttEstimator(), us(2000)), us(2000));
}

TEST_F(LossDetectorTest, TheWindowIsARoundTripAtFirstAndTheFloorAfterSixteenWithoutLateness) {
  EXPECT_EQ(window(0), us(100));
  EXPECT_EQ(window(1599), us(100));
  EXPECT_EQ(window(1600), us(10));
}

TEST_F(LossDetectorTest, LatenessWidensItByAQuarterMoreUpToARoundTripAndTwiceItsVariation) {
  settle();
  detector_.on_late(at(1700), us(8), rtt_);
  EXPECT_EQ(window(1700), us(10));
  detector_.on_late(at(1700), us(40), rtt_);
  EXPECT_EQ(window(1700), us(50));
  detector_.on_late(at(1700), us(20), rtt_);
  EXPECT_EQ(window(1700), us(50));
  detector_.on_late(at(1700), us(159), rtt_);
  EXPECT_EQ(window(1700), us(159) + us(159) / 4);
  detector_.on_late(at(1700), us(161), rtt_);
  EXPECT_EQ(window(1700), us(200));
}

// Packets of a slow path arrive after they were sent again, and give no sample to the round trip of the QP.
TEST_F(LossDetectorTest, RoundTripsOfLatePacketsRaiseTheBound) {
  settle();
  detector_.on_late(at(1700), us(1000), rtt_);
  EXPECT_EQ(window(1700), us(200));
  detector_.on_round_trip(us(300));  // the mean becomes 125 us, its variation 87.5 us
  EXPECT_EQ(window(1700), us(300));
}

TEST_F(LossDetectorTest, LatenessWidensItInTheFirstEpochToo) {
  window(0);
  detector_.on_late(at(10), us(60), rtt_);
  EXPECT_EQ(window(10), us(100));
  detector_.on_late(at(10), us(120), rtt_);
  EXPECT_EQ(window(10), us(150));
}

TEST_F(LossDetectorTest, LatenessIsForgottenAfterTheNextSixteenRoundTrips) {
  settle();
  detector_.on_late(at(1700), us(40), rtt_);
  EXPECT_EQ(window(3199), us(50));
  EXPECT_EQ(window(3200), us(50));
  EXPECT_EQ(window(4799), us(50));
  EXPECT_EQ(window(4800), us(10));
}

// A pause is no proof that packets have stopped to be late.
TEST_F(LossDetectorTest, APauseForgetsNothing) {
  settle();
  detector_.on_late(at(1700), us(40), rtt_);
  EXPECT_EQ(window(1000000), us(50));
}

TEST_F(LossDetectorTest, NothingIsLostBeforeALaterPacketHasArrived) {
  EXPECT_EQ(detector_.lost_at(at(50), rtt_, us(10)), Instant::never());
  detector_.on_delivered(at(100), at(0));
  EXPECT_EQ(detector_.lost_at(at(1), rtt_, us(10)), Instant::never());
}

TEST_F(LossDetectorTest, LostAtOnceWhenOneSentAWindowLaterHasArrived) {
  detector_.on_delivered(at(110), at(10));
  EXPECT_LE(detector_.lost_at(at(0), rtt_, us(10)), at(110));
  EXPECT_GT(detector_.lost_at(Instant::from_ns(1), rtt_, us(10)), at(110));
}

TEST_F(LossDetectorTest, ElseWhenARoundTripAndTheWindowHavePassed) {
  detector_.on_delivered(at(105), at(5));
  EXPECT_EQ(detector_.lost_at(at(0), rtt_, us(10)), at(100 + 10 + 2 * 50));
  detector_.on_delivered(at(306), at(6));  // the round trip of the one that overtook counts when it is longer
  EXPECT_EQ(detector_.lost_at(at(0), rtt_, us(10)), at(300 + 10 + 2 * 50));
  detector_.on_delivered(at(400), at(3));  // an older packet changes nothing
  EXPECT_EQ(detector_.lost_at(at(0), rtt_, us(10)), at(300 + 10 + 2 * 50));
}

TEST_F(LossDetectorTest, LatenessIsHowMuchLaterTheNewestWasSent) {
  detector_.on_delivered(at(105), at(30));
  EXPECT_EQ(detector_.lateness(at(10)), us(20));
  EXPECT_EQ(detector_.lateness(at(30)), Duration());
  EXPECT_EQ(detector_.lateness(at(31)), Duration());
}

}  // namespace
}  // namespace mrc::core
