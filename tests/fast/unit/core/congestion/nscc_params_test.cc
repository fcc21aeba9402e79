// Gains of NSCC, derived, set by hand, measured, with a floor [MRC-NSCC-3..5].
#include "nscc_fixture.h"

namespace mrc::core {
namespace {

using namespace nscc_test;
using Peer = NsccTestPeer;

struct Row {
  double gbps;
  int64_t r, bdp, max_wnd, t;
  double alpha, fi, eta, fi_scale;
};

class NsccGains : public ::testing::TestWithParam<Row> {};

// [MRC-NSCC-CHOICE-9]: fi and eta in bytes.
TEST_P(NsccGains, derived_as_in_the_table) {
  const Row& row = GetParam();
  const Nscc n(config(row.gbps, row.r), at(0));
  EXPECT_EQ(n.max_wnd(), row.max_wnd);
  EXPECT_EQ(n.cwnd(), row.max_wnd);
  EXPECT_EQ(n.target_delay().ns(), row.t);
  EXPECT_EQ(n.base_rtt().ns(), row.r);
  EXPECT_NEAR(Peer::alpha_per_us(n), row.alpha, 0.05);
  EXPECT_NEAR(Peer::fi(n), row.fi, 0.5);
  EXPECT_NEAR(Peer::eta(n), row.eta, 0.5);
  EXPECT_NEAR(Peer::fi_scale(n), row.fi_scale, 0.0005);
  EXPECT_EQ(Peer::adjust_bytes(n), 33280u);
  EXPECT_EQ(Peer::adjust_period(n), row.r);
}

INSTANTIATE_TEST_SUITE_P(Networks, NsccGains,
                         ::testing::Values(Row{100, 8000, 100000, 150000, 6000, 924.4, 13867, 416, 0.1667},
                                           Row{200, 8000, 200000, 300000, 6000, 1848.9, 27733, 832, 0.3333},
                                           Row{400, 8000, 400000, 600000, 6000, 3697.8, 55467, 1664, 0.6667},
                                           Row{800, 8000, 800000, 1200000, 6000, 7395.6, 110933, 3328, 1.3333},
                                           Row{100, 12000, 150000, 225000, 9000, 1386.7, 20800, 624, 0.25},
                                           Row{400, 12000, 600000, 900000, 9000, 5546.7, 83200, 2496, 1.0},
                                           Row{800, 12000, 1200000, 1800000, 9000, 11093.3, 166400, 4992, 2.0}));

TEST(nscc, without_trimming_the_target_is_r_and_quick_adapt_has_a_threshold) {
  NsccConfig c = config();
  EXPECT_EQ(Peer::qa_threshold(Nscc(c, at(0))), Duration::infinite().ns());
  c.trimming = false;
  EXPECT_EQ(Nscc(c, at(0)).target_delay().ns(), kR);
  EXPECT_EQ(Peer::qa_threshold(Nscc(c, at(0))), 4 * kR);
}

TEST(nscc, alpha_does_not_depend_on_the_target) {
  NsccConfig c = config();
  const double alpha = Peer::alpha_per_us(Nscc(c, at(0)));
  c.target_delay = nanos(50000);
  EXPECT_NEAR(Peer::alpha_per_us(Nscc(c, at(0))), alpha, 1e-9);
}

// [MRC-NSCC-CHOICE-7] [MRC-NSCC-CHOICE-9]
TEST(nscc, parameters_set_by_hand_are_kept_when_the_device_has_measured) {
  NsccConfig c = config();
  c.max_cwnd = 123456;
  c.target_delay = nanos(7777);
  c.fi = 11;
  c.fi_scale = 0.5;
  c.eta = 13;
  c.qa_threshold = nanos(99000);
  c.adjust_period_threshold = nanos(5555);
  Nscc n(c, at(0));
  n.set_measured(100e9, nanos(12000));
  n.ack_ticks(0, 0, 6000, false, true);  // and when base_rtt falls
  EXPECT_EQ(n.max_wnd(), 123456);
  EXPECT_EQ(n.cwnd(), 123456);
  EXPECT_EQ(n.target_delay().ns(), 7777);
  EXPECT_EQ(Peer::fi(n), 11);
  EXPECT_EQ(Peer::fi_scale(n), 0.5);
  EXPECT_EQ(Peer::eta(n), 13);
  EXPECT_EQ(Peer::qa_threshold(n), 99000);
  EXPECT_EQ(Peer::adjust_period(n), 5555);
  EXPECT_EQ(n.base_rtt().ns(), 6000);
}

TEST(nscc, measuring_derives_anew) {
  Nscc n(config(), at(0));
  n.set_measured(100e9, nanos(12000));
  EXPECT_EQ(n.max_wnd(), 225000);
  EXPECT_EQ(n.cwnd(), 225000);  // still at its start
  EXPECT_NEAR(Peer::fi(n), 20800, 0.5);
  EXPECT_EQ(n.target_delay().ns(), 9000);

  Nscc used(config(), at(0));
  used.on_loss(at(0), kPacket);
  used.set_measured(800e9, nanos(12000));
  EXPECT_EQ(used.cwnd(), 600000 - kPacket);  // has learnt something: not raised
  used.set_measured(100e9, nanos(12000));
  EXPECT_EQ(used.cwnd(), 225000);  // but held below the maximum
}

TEST(nscc, floor_raises_the_target_and_the_window_with_it) {
  NsccConfig c = config();
  c.target_delay_floor = nanos(kT);
  EXPECT_EQ(Nscc(c, at(0)).target_delay().ns(), kT);  // not above: nothing changes
  EXPECT_EQ(Nscc(c, at(0)).max_wnd(), 600000);
  c.target_delay_floor = nanos(40000);
  Nscc n(c, at(0));
  EXPECT_EQ(n.target_delay().ns(), 40000);
  EXPECT_EQ(n.max_wnd(), 50 * 48000);  // rate * (R + T), 50 B/ns
  n.ack_ticks(0, 0, 6000, false, true);
  EXPECT_EQ(n.max_wnd(), 50 * 46000);
  n.set_measured(400e9, nanos(100000));  // now T is above the floor by itself
  EXPECT_EQ(n.target_delay().ns(), 75000);
  EXPECT_EQ(n.max_wnd(), 50 * 150000);
}

// A rate is measured by what the window lets through: it must let enough through to see more.
TEST(NsccMeasured, a_low_rate_leaves_room_to_be_found_wrong) {
  NsccConfig c = config();
  Nscc n(c, at(0));
  n.set_measured(kPacket * 8 / 300e-6, nanos(300000));  // one packet per round trip
  EXPECT_EQ(n.max_wnd(), 4 * kPacket);
}

}  // namespace
}  // namespace mrc::core
