// The object of a QP: what it makes of SACKs that report several packets and name one. [MRC-NSCC-33]
// [MRC-NSCC-CHOICE-12]
#include <gtest/gtest.h>

#include <memory>

#include "core/congestion/nscc.h"
#include "core/congestion/registry.h"

namespace mrc::core {
namespace {

constexpr uint32_t kPacket = 4160;
constexpr Duration kGap = Duration::nanoseconds(333);  // between packets of the default rate, 100 Gb/s
constexpr Duration kShort = Duration::microseconds(15), kLong = Duration::microseconds(48);  // R is 12 us, T 9 us

// A QP of which SACKs arrive.
struct SackedQp {
  SackedQp() {
    CongestionConfig c;
    c.algorithm = find_congestion_algorithm("nscc");
    CongestionFlow flow;
    flow.trimming = true;
    control = make_congestion_control(c, flow, now);
    control->limit(100000);
  }
  AckSample sample(uint32_t packets, bool marked) {
    arrived += packets * kPacket;
    AckSample s;
    s.rcvd_bytes_24 = (arrived + 255) / 256;
    s.nominal = kPacket;
    s.rtt = marked ? kLong : kShort;
    s.ecn_marked = marked;
    return s;
  }
  // A SACK of that many packets, which names the last of them.
  void ack(uint32_t packets, bool marked) {
    now = now + kGap * packets;
    control->on_ack(now, sample(packets, marked));
    cut = cut || did(kStepDecreaseCut);
  }
  CongestionSnapshot snapshot() const { return control->snapshot(); }
  bool did(WindowStep step) const { return (snapshot().steps & step) != 0; }

  Instant now = Instant::from_ns(1000000);
  std::unique_ptr<CongestionControl> control;
  uint32_t arrived = 0;
  bool cut = false;
};

// Of eight packets the last one is marked: with a SACK per four packets half of the samples are.
TEST(nscc_control, marks_weigh_the_same_with_few_sacks_and_with_many) {
  SackedQp many, few;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 8; ++i) many.ack(1, i == 7);
    for (int i = 0; i < 2; ++i) few.ack(4, i == 1);
  }
  EXPECT_FALSE(many.cut);
  EXPECT_FALSE(few.cut);
  EXPECT_GT(many.snapshot().cwnd, 110000);
  EXPECT_NEAR(static_cast<double>(few.snapshot().cwnd), static_cast<double>(many.snapshot().cwnd), 1000);
  EXPECT_NEAR(static_cast<double>(few.snapshot().inflight), static_cast<double>(many.snapshot().inflight), 256);
}

// [MRC-NSCC-33] concerns no SACK of one packet, rounded to units of 256 bytes as it is.
TEST(nscc_control, a_sack_of_one_packet_is_one_event) {
  SackedQp qp;
  NsccConfig config;
  config.trimming = true;
  Nscc whole(config, qp.now);
  whole.limit(100000);
  for (int i = 0; i < 200; ++i) {
    const bool marked = i % 3 == 0;
    qp.ack(1, marked);
    whole.on_ack(qp.now, (qp.arrived + 255) / 256, marked ? kLong : kShort, marked, 0, false);
    ASSERT_EQ(qp.snapshot().cwnd, whole.cwnd()) << i;
    ASSERT_EQ(qp.snapshot().inflight, whole.inflight()) << i;
    ASSERT_EQ(qp.snapshot().steps, whole.last_branches()) << i;
  }
  EXPECT_TRUE(qp.cut);
}

// Every packet may have been marked since then.
TEST(nscc_control, the_last_unmarked_sample_stands_for_others_for_a_round_trip) {
  for (const bool recent : {true, false}) {
    SackedQp qp;
    qp.ack(4, false);
    qp.now = qp.now + kLong + Duration::nanoseconds(recent ? 0 : 1);
    qp.control->on_ack(qp.now, qp.sample(4, true));
    EXPECT_TRUE(qp.did(kStepDecreaseAsked));
    EXPECT_EQ(qp.did(kStepProportional), recent);
    EXPECT_EQ(qp.snapshot().inflight, -8 * int64_t{kPacket});
  }
}

}  // namespace
}  // namespace mrc::core
