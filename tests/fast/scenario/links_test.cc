// Links: EVs that name one T1 are left and restored together, and links are tested before the first message.
// [MRC-EVS-13..15]
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

// Four planes of eight active EVs, so many of them over one T1; every packet on its own EV.
FabricConfig over_links(int evs_per_link) {
  FabricConfig c = without_queries();
  c.backups_per_plane = 0;
  c.evs_per_link = evs_per_link;
  c.endpoint.max_segments = 1;
  return c;
}

// Sixteen kilobytes every 200 us.
void write_steadily(Pair* p, Duration time) {
  const Instant end = p->fabric.now() + time;
  for (uint64_t i = 0; p->fabric.now() < end; ++i) {
    p->write(i, (i % 60) * 16384, 16384, true);
    p->pass(Duration::microseconds(200));
  }
}

std::vector<EvStatus> evs_of(Pair* p) {
  const auto all = p->fabric.at(0).ev_status(p->fabric.peer(0, 1));
  return {all.begin(), all.end()};
}

// The EV number k of plane 1, in both directions.
size_t on_plane_1(const Pair& p, int k) {
  return static_cast<size_t>(k) * static_cast<size_t>(p.fabric.config().planes) + 1;
}
void set_loss(Pair* p, int k, double share) {
  p->fabric.net().set_ev_loss(static_cast<uint16_t>(evs_of(p)[on_plane_1(*p, k)].value), share);
}

// [MRC-EVS-14] Both sides of the threshold: three paths of a link, and two, which are retired one by one.
TEST(Links, all_paths_of_a_dead_link_are_left_together_and_come_back) {
  for (const int evs_per_link : {2, 3}) {
    Pair p(over_links(evs_per_link));
    write_steadily(&p, Duration::milliseconds(5));
    for (int k = 0; k < evs_per_link; ++k) set_loss(&p, k, 1);
    write_steadily(&p, Duration::milliseconds(20));
    EXPECT_EQ(p.counters(0).link_suspicions, evs_per_link == 3 ? 1u : 0u);
    EXPECT_EQ(p.counters(0).plane_suspensions, 0u);
    std::vector<uint64_t> sent;
    for (int k = 0; k < evs_per_link; ++k) sent.push_back(evs_of(&p)[on_plane_1(p, k)].tx_packets);
    write_steadily(&p, Duration::milliseconds(20));
    for (int k = 0; k < evs_per_link; ++k)
      EXPECT_EQ(evs_of(&p)[on_plane_1(p, k)].tx_packets, sent[static_cast<size_t>(k)]) << k;
    for (int k = 0; k < evs_per_link; ++k) set_loss(&p, k, 0);
    write_steadily(&p, Duration::milliseconds(600));
    for (const EvStatus& ev : evs_of(&p)) EXPECT_EQ(ev.state, EvState::kGood);
    for (int k = 0; k < evs_per_link; ++k)
      EXPECT_GT(evs_of(&p)[on_plane_1(p, k)].tx_packets, sent[static_cast<size_t>(k)]) << k;
    EXPECT_EQ(p.counters(0).qp_errors, 0u);
  }
}

// [MRC-EVS-15] Probes from the connection on: after a quarter of an interval all links are asked, after one more the
// silent ones are known. Without that time the data find it out.
TEST(Links, a_dead_link_loses_nothing_of_what_is_sent_later) {
  for (const int64_t lead_ms : {0, 70}) {
    Pair p(over_links(4));
    for (int k = 0; k < 4; ++k) set_loss(&p, k, 1);
    p.pass(Duration::milliseconds(lead_ms));
    const Counters& c = p.counters(0);
    if (lead_ms != 0) {
      EXPECT_EQ(c.link_suspicions, 1u);
      EXPECT_EQ(c.tx_data, 0u);
      EXPECT_GE(c.tx_ev_probes, 8u);  // two links per plane
      EXPECT_LE(c.tx_ev_probes, 9u);  // and the dead one again
    }
    write_steadily(&p, Duration::milliseconds(20));
    EXPECT_EQ(c.retransmits == 0, lead_ms != 0) << c.retransmits;
    EXPECT_EQ(p.counters(0).plane_suspensions, 0u);
  }
}

// [MRC-EVS-15] Probes that are lost by chance, answers too: each link is back after its next probe.
TEST(Links, random_loss_leaves_no_link_suspected) {
  Pair p(over_links(4));
  for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = 0.2;
  p.pass(Duration::milliseconds(70));
  EXPECT_GT(p.counters(0).link_suspicions + p.counters(1).link_suspicions, 0u);
  for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = 0;
  p.pass(Duration::milliseconds(1000));
  for (const EvStatus& ev : evs_of(&p)) EXPECT_EQ(ev.state, EvState::kGood);
}

}  // namespace
}  // namespace mrc::scenario
