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

TEST_F(LossDetectorTest, LatenessWidensItByHalfMoreUpToARoundTripAndFourTimesItsVariation) {
  settle();
  detector_.on_late(at(1700), us(6), rtt_);
  EXPECT_EQ(window(1700), us(10));
  detector_.on_late(at(1700), us(40), rtt_);
  EXPECT_EQ(window(1700), us(60));
  detector_.on_late(at(1700), us(20), rtt_);
  EXPECT_EQ(window(1700), us(60));
  detector_.on_late(at(1700), us(198), rtt_);
  EXPECT_EQ(window(1700), us(297));
  detector_.on_late(at(1700), us(202), rtt_);
  EXPECT_EQ(window(1700), us(300));
}

// Packets of a slow path arrive after they were sent again, and give no sample to the round trip of the QP.
TEST_F(LossDetectorTest, RoundTripsOfLatePacketsRaiseTheBound) {
  settle();
  detector_.on_late(at(1700), us(1000), rtt_);
  EXPECT_EQ(window(1700), us(300));
  detector_.on_round_trip(us(300));  // the mean becomes 125 us, its variation 87.5 us
  EXPECT_EQ(window(1700), us(475));
}

TEST_F(LossDetectorTest, LatenessWidensItInTheFirstEpochToo) {
  window(0);
  detector_.on_late(at(10), us(60), rtt_);
  EXPECT_EQ(window(10), us(100));
  detector_.on_late(at(10), us(120), rtt_);
  EXPECT_EQ(window(10), us(180));
}

TEST_F(LossDetectorTest, LatenessIsForgottenAfterTheNextSixteenRoundTrips) {
  settle();
  detector_.on_late(at(1700), us(40), rtt_);
  EXPECT_EQ(window(3199), us(60));
  EXPECT_EQ(window(3200), us(60));
  EXPECT_EQ(window(4799), us(60));
  EXPECT_EQ(window(4800), us(10));
}

// A pause is no proof that packets have stopped to be late.
TEST_F(LossDetectorTest, APauseForgetsNothing) {
  settle();
  detector_.on_late(at(1700), us(40), rtt_);
  EXPECT_EQ(window(1000000), us(60));
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

// Four packets, sent at 0, 10, 20 and 30 us; the last one arrives at 100 us.
class DetectTest : public LossDetectorTest {
 protected:
  DetectTest() {
    sent_.make_room(&pool_, 64, 64);
    for (int64_t i = 0; i < 4; ++i) sent_.on_sent(at(10 * i), 0_ev, 1000);
    sent_.on_arrived(3);
    detector_.on_delivered(at(100), at(30));
  }
  Instant detect(int64_t now, int64_t window) {
    lost_.clear();
    return detector_.detect(at(now), sent_, rtt_, us(window), [this](uint64_t seq) { lost_.push_back(seq); });
  }
  using Seqs = std::vector<uint64_t>;
  TxWindowPool pool_;
  SentPackets sent_;
  Seqs lost_;
};

TEST_F(DetectTest, NamesThePacketsThatALaterOneHasOvertakenByTheWindow) {
  detect(100, 20);
  EXPECT_EQ(lost_, (Seqs{0, 1}));
  detect(100, 21);
  EXPECT_EQ(lost_, (Seqs{0}));
  EXPECT_EQ(sent_.lost(), 0u);  // that is for the caller to do
}

TEST_F(DetectTest, TellsWhenTheNextOneWillBe) {
  // Only time indicates the loss of packet 2: a round trip, the window and twice the variation of 50 us.
  EXPECT_EQ(detect(100, 20), at(20 + 100 + 20 + 100));
  detect(239, 20);
  EXPECT_EQ(lost_, (Seqs{0, 1}));
  EXPECT_EQ(detect(240, 20), Instant::never());
  EXPECT_EQ(lost_, (Seqs{0, 1, 2}));
}

TEST_F(DetectTest, LeavesOutWhatHasArrivedOrIsLostOrLiesAboveTheHighestArrival) {
  sent_.on_sent(at(31), 0_ev, 1000);
  sent_.on_arrived(0);
  sent_.on_lost(1, TraceTrigger::kTrimmed);
  EXPECT_EQ(detect(10000, 1), Instant::never());
  EXPECT_EQ(lost_, (Seqs{2}));
}

}  // namespace
}  // namespace mrc::core
