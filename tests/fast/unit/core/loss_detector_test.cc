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
    detector_.start(2);
    rtt_.on_sample(us(100));
    detector_.on_round_trip(us(100));  // its variation is 50 us
  }
  Duration window(int64_t now) { return detector_.window(at(now), rtt_, us(10)); }
  void late(int64_t now, int64_t by) { detector_.on_late(at(now), us(by), rtt_); }
  void delivered(int64_t now, int64_t sent, PlaneId plane = 0_plane) {
    detector_.on_delivered(at(now), at(sent), plane);
  }
  Instant lost_at(int64_t sent, PlaneId plane = 0_plane) const {
    return detector_.lost_at(at(sent), rtt_, us(10), plane, ran_since_);
  }
  void settle() {  // the first epoch is over
    window(0);
    window(1600);
  }
  RttEstimator rtt_;
  LossDetector detector_;
  Instant ran_since_;
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
  late(1700, 6);
  EXPECT_EQ(window(1700), us(10));
  late(1700, 40);
  EXPECT_EQ(window(1700), us(60));
  late(1700, 20);
  EXPECT_EQ(window(1700), us(60));
  late(1700, 198);
  EXPECT_EQ(window(1700), us(297));
  late(1700, 202);
  EXPECT_EQ(window(1700), us(300));
}

// Packets of a slow path arrive after they were sent again, and give no sample to the round trip of the QP.
TEST_F(LossDetectorTest, RoundTripsOfLatePacketsRaiseTheBound) {
  settle();
  late(1700, 1000);
  EXPECT_EQ(window(1700), us(300));
  detector_.on_round_trip(us(300));  // the mean becomes 125 us, its variation 87.5 us
  EXPECT_EQ(window(1700), us(475));
}

TEST_F(LossDetectorTest, LatenessWidensItInTheFirstEpochToo) {
  window(0);
  late(10, 60);
  EXPECT_EQ(window(10), us(100));
  late(10, 120);
  EXPECT_EQ(window(10), us(180));
}

TEST_F(LossDetectorTest, LatenessIsForgottenAfterTheNextSixteenRoundTrips) {
  settle();
  late(1700, 40);
  EXPECT_EQ(window(3199), us(60));
  EXPECT_EQ(window(3200), us(60));
  EXPECT_EQ(window(4799), us(60));
  EXPECT_EQ(window(4800), us(10));
}

// A pause is no proof that packets have stopped to be late.
TEST_F(LossDetectorTest, APauseForgetsNothing) {
  settle();
  late(1700, 40);
  EXPECT_EQ(window(1000000), us(60));
}

TEST_F(LossDetectorTest, NothingIsLostBeforeALaterPacketHasArrived) {
  EXPECT_EQ(lost_at(50), Instant::never());
  delivered(100, 0);
  EXPECT_EQ(lost_at(1), Instant::never());
}

TEST_F(LossDetectorTest, LostAtOnceWhenOneSentAWindowLaterHasArrived) {
  delivered(110, 10);
  EXPECT_LE(lost_at(0), at(110));
  EXPECT_GT(detector_.lost_at(Instant::from_ns(1), rtt_, us(10), 0_plane, ran_since_), at(110));
}

TEST_F(LossDetectorTest, ElseWhenARoundTripAndTheWindowHavePassed) {
  delivered(105, 5);
  EXPECT_EQ(lost_at(0), at(100 + 10 + 2 * 50));
  delivered(306, 6);  // the round trip of the one that overtook counts when it is longer
  EXPECT_EQ(lost_at(0), at(300 + 10 + 2 * 50));
  delivered(400, 3);  // an older packet changes nothing
  EXPECT_EQ(lost_at(0), at(300 + 10 + 2 * 50));
}

TEST_F(LossDetectorTest, LatenessIsHowMuchLaterTheNewestWasSent) {
  delivered(105, 30);
  EXPECT_EQ(detector_.lateness(at(10)), us(20));
  EXPECT_EQ(detector_.lateness(at(30)), Duration());
  EXPECT_EQ(detector_.lateness(at(31)), Duration());
}

// Order holds within a plane: what arrives of another one is no reason to call a packet overtaken.
TEST_F(LossDetectorTest, OnlyPacketsOfItsPlaneOvertakeAPacket) {
  settle();
  delivered(200, 100, 1_plane);
  EXPECT_GT(lost_at(0), at(200));
  delivered(201, 10, 0_plane);
  EXPECT_LE(lost_at(0), at(201));
}

// One plane alone has too few samples: the window follows all of them.
TEST_F(LossDetectorTest, LatenessIsMeasuredAmongAllPlanes) {
  delivered(1750, 1650, 0_plane);
  delivered(1800, 1700, 1_plane);
  EXPECT_EQ(detector_.lateness(at(1600)), us(100));
}

// While other planes deliver: twice the round trip, the window, four times the variation of 50 us, and 200 us.
TEST_F(LossDetectorTest, APacketOfASilentPlaneIsLostLater) {
  delivered(100, 0, 0_plane);
  EXPECT_EQ(lost_at(1), Instant::never());
  delivered(105, 5, 1_plane);
  EXPECT_EQ(lost_at(1), at(1 + 2 * 100 + 10 + 4 * 50 + 200));
  delivered(306, 6, 1_plane);
  EXPECT_EQ(lost_at(1), at(1 + 2 * 300 + 10 + 4 * 50 + 200));
}

// A host that did not run works off one plane's queue after the other: the first late answer says nothing about the
// packets of other planes, which have the same time again.
TEST_F(LossDetectorTest, ALateAnswerBeginsTheSilenceAnew) {
  const int64_t silence = 2 * 100 + 10 + 4 * 50 + 200;
  delivered(100, 0, 1_plane);
  delivered(1000, 1000 - 600, 1_plane);  // 600 us: two round trips, four variations and 200 us
  delivered(1001, 901, 1_plane);
  EXPECT_EQ(lost_at(300, 0_plane), at(300 + silence));
  delivered(1200, 1200 - 601, 1_plane);
  EXPECT_EQ(lost_at(300, 0_plane), at(1200 + silence));
  EXPECT_EQ(lost_at(800, 0_plane), at(1200 + silence));
}

TEST_F(LossDetectorTest, SilenceHasALimit) {
  delivered(100, 0, 1_plane);
  delivered(60000, 20000, 1_plane);
  delivered(60100, 60000, 1_plane);
  EXPECT_EQ(lost_at(20001, 0_plane), at(20001) + LossDetector::kMaxSilence);
}

// This host did not run: answers may be queued.
TEST_F(LossDetectorTest, TimeInWhichThisHostDidNotRunDoesNotCount) {
  delivered(105, 5, 0_plane);
  delivered(106, 6, 1_plane);
  ran_since_ = at(3000);
  EXPECT_EQ(lost_at(4, 0_plane), at(3000 + 100 + 10 + 2 * 50));
  EXPECT_EQ(lost_at(6, 0_plane), at(3000 + 2 * 100 + 10 + 4 * 50 + 200));
  delivered(3300, 3200, 0_plane);  // overtaken all the same
  EXPECT_LE(lost_at(4, 0_plane), at(3300));
}

// Four packets, sent at 0, 10, 20 and 30 us; the last one arrives at 100 us.
class DetectTest : public LossDetectorTest {
 protected:
  DetectTest() {
    settle();
    sent_.make_room(&pool_, 64, 64);
    for (int64_t i = 0; i < 4; ++i) sent_.on_sent(at(10 * i), 0_ev, 1000);
    sent_.on_arrived(3);
    delivered(100, 30);
  }
  Instant detect(int64_t now, int64_t window) {
    lost_.clear();
    return detector_.detect(at(now), sent_, rtt_, us(window), ran_since_, evs_,
                            [this](uint64_t seq) { lost_.push_back(seq); });
  }
  using Seqs = std::vector<uint64_t>;
  const PerEv<EvEntry> evs_{{1, 0_plane}, {2, 1_plane}};
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

TEST_F(DetectTest, JudgesEachPacketByItsPlane) {
  sent_.on_sent(at(40), 1_ev, 1000);
  sent_.on_sent(at(50), 0_ev, 1000);
  sent_.on_arrived(5);
  delivered(140, 50);
  detect(140, 10);
  EXPECT_EQ(lost_, (Seqs{0, 1, 2}));
  lost_.clear();
  detect(40 + 200 + 10 + 200 + 200, 10);
  EXPECT_EQ(lost_, (Seqs{0, 1, 2, 4}));
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
