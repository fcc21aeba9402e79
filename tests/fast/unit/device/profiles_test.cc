// Profiles on a device: which of the engine's EVs a profile's entries stand for, and how states travel between the two.
#include "device/profiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "core/congestion/registry.h"

namespace mrc::device {
namespace {

// Six EVs on two planes: source ports 0x4000..0x4005, and as structured EVs flow label 0x0A00 + i before them.
PerEv<core::EvEntry> table(bool structured) {
  PerEv<core::EvEntry> evs;
  for (uint32_t i = 0; i < 6; ++i)
    evs.push_back({(structured ? (0x0A00u + i) << 16 : 0u) | (0x4000u + i), plane_at(i % 2)});
  return evs;
}

// A generated profile ONLINE: source ports 0x4000 + 0..7 by three bits, `count` of them.
int generate(DeviceProfiles* profiles, uint64_t id, uint32_t count, int events = 0) {
  mrc_ctl_ev_fmt_field width{16};
  mrc_ctl_ev_fmt_profile_attr format{};
  format.profile_state = MRC_CTL_PROFILE_OFFLINE;
  format.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
  format.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, &width, 1};
  if (int e = profiles->modify_format(
          id, format, MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP))
    return e;
  format.profile_state = MRC_CTL_PROFILE_ONLINE;
  if (int e = profiles->modify_format(id, format, MRC_CTL_EV_FMT_PROFILE_STATE)) return e;
  mrc_ctl_ev_field field{16, 0x4000, 0, 0, 7};
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_GEN;
  attr.ev_fmt_profile_id = id;
  attr.ev_count = count;
  attr.ev_min_active = 2;
  attr.ev_event_mask = events;
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, &field, 1};
  if (int e = profiles->modify_ev(id, attr,
                                  MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                      MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                      MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_FIELDS_OP))
    return e;
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  return profiles->modify_ev(id, attr, MRC_CTL_EV_PROFILE_STATE);
}

int automatic(DeviceProfiles* profiles, uint64_t id, int events) {
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
  attr.ev_event_mask = events;
  if (int e = profiles->modify_ev(id, attr,
                                  MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                      MRC_CTL_EV_PROFILE_EVENT_MASK))
    return e;
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  return profiles->modify_ev(id, attr, MRC_CTL_EV_PROFILE_STATE);
}

int to(DeviceProfiles* profiles, uint64_t id, mrc_ctl_profile_state state) {
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = state;
  return profiles->modify_ev(id, attr, MRC_CTL_EV_PROFILE_STATE);
}

int set_state(DeviceProfiles* profiles, uint64_t id, EvIndex index, mrc_ctl_ev_state state) {
  mrc_ctl_ev_op_entry entry{profiles->name_of(index), {}, state, 0};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1};
  return profiles->modify_ev(id, attr, MRC_CTL_EV_PROFILE_EV_OP);
}

mrc_ctl_ev_state state_of(const DeviceProfiles& profiles, uint64_t id, uint16_t index) {
  return profiles.store().ev(id)->table().entries()[index].state;
}

size_t allowed(const core::EvChoice& choice) {
  return static_cast<size_t>(std::count(choice.allowed.begin(), choice.allowed.end(), true));
}

TEST(DeviceProfiles, names_its_evs_in_its_own_format) {
  const mrc_ctl_ev udp = DeviceProfiles(table(false), 2, EvNaming::kPort).name_of(3_ev);
  EXPECT_EQ(udp.val[0], 0x40);
  EXPECT_EQ(udp.val[1], 0x03);
  EXPECT_EQ(udp.val[2], 0);
  EXPECT_EQ(udp.port, 2);
  const mrc_ctl_ev structured = DeviceProfiles(table(true), 2, EvNaming::kLabelAndPort).name_of(3_ev);
  EXPECT_EQ(structured.val[0], 0x0A);
  EXPECT_EQ(structured.val[1], 0x03);
  EXPECT_EQ(structured.val[2], 0x40);
  EXPECT_EQ(structured.val[3], 0x03);
}

TEST(DeviceProfiles, formats_are_those_of_the_driver) {
  EXPECT_EQ(controller_limits(4, EvNaming::kPort).format_modes, static_cast<uint32_t>(MRC_CTL_EV_FMT_MODE_UDP));
  EXPECT_EQ(controller_limits(4, EvNaming::kLabelAndPort).format_modes,
            static_cast<uint32_t>(MRC_CTL_EV_FMT_MODE_STEV));
  EXPECT_EQ(controller_limits(4, EvNaming::kLabelAndPort).ports, 4u);
}

// [MRC-CTL-5] Ports in turn: of the eight generated EVs those count whose port is that of the engine's EV.
TEST(DeviceProfiles, entries_stand_for_what_they_expand_to) {
  DeviceProfiles profiles(table(false), 2, EvNaming::kPort);
  ASSERT_EQ(generate(&profiles, 9, 8), 0);
  DeviceProfiles::Hold hold;
  ASSERT_EQ(profiles.hold(9, 0, &hold), 0);
  EXPECT_TRUE(hold.ev);
  EXPECT_FALSE(hold.cc);
  const auto choice = hold.choice;
  ASSERT_NE(choice, nullptr);
  EXPECT_EQ(choice->min_active, 2u);
  size_t expected = 0;
  for (const ctl::EvTable::Entry& entry : profiles.store().ev(9)->table().entries()) {
    const unsigned index = entry.ev.val[0] >> 5;  // its three bits
    const bool is_there = index < 6 && entry.ev.port == index % 2 + 1;
    expected += is_there;
    if (index < 6 && is_there) {
      EXPECT_TRUE(choice->allowed[index]) << index;
    }
  }
  EXPECT_GT(expected, 0u);
  EXPECT_EQ(allowed(*choice), expected);
  profiles.release(hold);
}

// [MRC-PROF-7]
TEST(DeviceProfiles, the_state_of_paths_enters_the_profile) {
  DeviceProfiles profiles(table(false), 2, EvNaming::kPort);
  ASSERT_EQ(automatic(&profiles, 1, MRC_CTL_EV_ASSUMED_BAD), 0);
  ASSERT_EQ(automatic(&profiles, 2, 0), 0);
  const std::vector<ctl::EvChange> changes = profiles.on_ev_state(4_ev, core::EvState::kAssumedBad);
  ASSERT_EQ(changes.size(), 2u);
  for (const ctl::EvChange& change : changes) {
    EXPECT_EQ(change.wanted, change.profile_id == 1);
    EXPECT_EQ(change.ev.val[1], 4);
  }
  EXPECT_EQ(profiles.store().ev(2)->table().entries()[4].state, MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_TRUE(profiles.on_ev_state(4_ev, core::EvState::kDenied).empty());
  for (const ctl::EvChange& change : profiles.on_ev_state(4_ev, core::EvState::kGood)) EXPECT_FALSE(change.wanted);
  EXPECT_EQ(profiles.store().ev(1)->table().entries()[4].state, MRC_CTL_EV_GOOD);
}

// [MRC-PROF-7] Also changes while a profile could not be notified.
TEST(DeviceProfiles, the_earlier_state_of_paths_enters_the_profile) {
  DeviceProfiles profiles(table(false), 2, EvNaming::kPort);
  EXPECT_TRUE(profiles.on_ev_state(4_ev, core::EvState::kAssumedBad).empty());
  ASSERT_EQ(automatic(&profiles, 1, MRC_CTL_EV_GOOD), 0);
  EXPECT_EQ(state_of(profiles, 1, 3), MRC_CTL_EV_GOOD);
  EXPECT_EQ(state_of(profiles, 1, 4), MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_EQ(profiles.on_ev_state(4_ev, core::EvState::kGood).size(), 1u);  // and its recovery is reported

  profiles.on_ev_state(4_ev, core::EvState::kAssumedBad);
  ASSERT_EQ(to(&profiles, 1, MRC_CTL_PROFILE_OFFLINE), 0);
  profiles.on_ev_state(4_ev, core::EvState::kGood);
  profiles.on_ev_state(5_ev, core::EvState::kAssumedBad);
  ASSERT_EQ(to(&profiles, 1, MRC_CTL_PROFILE_ONLINE), 0);
  EXPECT_EQ(state_of(profiles, 1, 4), MRC_CTL_EV_GOOD);
  EXPECT_EQ(state_of(profiles, 1, 5), MRC_CTL_EV_ASSUMED_BAD);

  ASSERT_EQ(set_state(&profiles, 1, 3_ev, MRC_CTL_EV_DENIED), 0);
  profiles.on_ev_state(3_ev, core::EvState::kAssumedBad);
  EXPECT_EQ(state_of(profiles, 1, 3), MRC_CTL_EV_DENIED);
  ASSERT_EQ(set_state(&profiles, 1, 3_ev, MRC_CTL_EV_GOOD), 0);
  EXPECT_EQ(state_of(profiles, 1, 3), MRC_CTL_EV_ASSUMED_BAD);
  ASSERT_EQ(set_state(&profiles, 1, 0_ev, MRC_CTL_EV_ASSUMED_BAD), 0);
  EXPECT_EQ(state_of(profiles, 1, 0), MRC_CTL_EV_GOOD);  // what the controller believes is not what is shown
}

// [MRC-EVT-2]
TEST(DeviceProfiles, losses_count_since_the_profile_was_told) {
  DeviceProfiles profiles(table(false), 2, EvNaming::kPort);
  ASSERT_EQ(automatic(&profiles, 1, MRC_CTL_EV_GOOD), 0);
  ASSERT_EQ(automatic(&profiles, 2, MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD), 0);
  const auto losses = [&](core::EvState state, uint64_t lost) {
    uint64_t of_profile[3] = {99, 99, 99};
    for (const ctl::EvChange& change : profiles.on_ev_state(4_ev, state, lost))
      if (change.wanted) of_profile[change.profile_id] = change.losses;
    return std::pair{of_profile[1], of_profile[2]};
  };
  EXPECT_EQ(losses(core::EvState::kAssumedBad, 3), (std::pair<uint64_t, uint64_t>{99, 3}));
  ASSERT_EQ(set_state(&profiles, 1, 0_ev, MRC_CTL_EV_DENIED), 0);  // another entry's change forgets nothing
  EXPECT_EQ(losses(core::EvState::kGood, 0), (std::pair<uint64_t, uint64_t>{3, 0}));
  EXPECT_EQ(losses(core::EvState::kAssumedBad, 2), (std::pair<uint64_t, uint64_t>{99, 2}));
  EXPECT_EQ(losses(core::EvState::kGood, 1), (std::pair<uint64_t, uint64_t>{3, 1}));
}

// [MRC-PROF-9]
TEST(DeviceProfiles, denials_are_traced) {
  struct Recorder final : core::TraceSink {
    void on_trace(const core::TraceEntry& e) override { seen.push_back(e); }
    std::vector<core::TraceEntry> seen;
  } recorder;
  DeviceProfiles profiles(table(false), 2, EvNaming::kPort);
  profiles.trace_to(&recorder, &host_clock);
  ASSERT_EQ(automatic(&profiles, 1, 0), 0);
  EXPECT_TRUE(recorder.seen.empty());
  ASSERT_EQ(set_state(&profiles, 1, 3_ev, MRC_CTL_EV_DENIED), 0);
  profiles.on_ev_state(3_ev, core::EvState::kAssumedBad);  // the engine traces its own
  ASSERT_EQ(set_state(&profiles, 1, 3_ev, MRC_CTL_EV_GOOD), 0);
  ASSERT_EQ(recorder.seen.size(), 2u);
  for (const core::TraceEntry& e : recorder.seen) {
    ASSERT_TRUE(e.get<core::event::EvState>());
    EXPECT_EQ(e.trigger, core::TraceTrigger::kOperator);
    EXPECT_EQ(e.get<core::event::EvState>()->ev, 0x4003u);
    EXPECT_EQ(e.get<core::event::EvState>()->plane, 1_plane);
  }
  EXPECT_EQ(recorder.seen[0].get<core::event::EvState>()->state, core::EvState::kDenied);
  EXPECT_EQ(recorder.seen[1].get<core::event::EvState>()->state, core::EvState::kAssumedBad);
}

TEST(DeviceProfiles, a_deny_reaches_the_holders_of_the_profile) {
  DeviceProfiles profiles(table(true), 2, EvNaming::kLabelAndPort);
  ASSERT_EQ(automatic(&profiles, 1, 0), 0);
  DeviceProfiles::Hold hold;
  ASSERT_EQ(profiles.hold(1, 0, &hold), 0);
  const auto choice = hold.choice;
  EXPECT_EQ(allowed(*choice), 6u);
  const uint32_t before = choice->generation;
  mrc_ctl_ev_op_entry entry{profiles.name_of(5_ev), {}, MRC_CTL_EV_DENIED, 0};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1};
  ASSERT_EQ(profiles.modify_ev(1, attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
  EXPECT_EQ(allowed(*choice), 5u);
  EXPECT_FALSE(choice->allows(5_ev));
  EXPECT_NE(choice->generation, before);
  profiles.release(hold);
}

// [MRC-CTL-4]
TEST(DeviceProfiles, holds_both_or_neither) {
  DeviceProfiles profiles(table(false), 2, EvNaming::kPort);
  ASSERT_EQ(automatic(&profiles, 1, 0), 0);
  DeviceProfiles::Hold hold;
  EXPECT_EQ(profiles.hold(1, 5, &hold), EINVAL);
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  EXPECT_EQ(profiles.modify_ev(1, attr, MRC_CTL_EV_PROFILE_STATE), 0);
  EXPECT_EQ(profiles.hold(0, 0, &hold), 0);
  EXPECT_EQ(hold.choice, nullptr);
  EXPECT_EQ(profiles.congestion(hold, core::CongestionConfig()), nullptr);
}

// [MRC-CCP-1] [MRC-CCP-3]
TEST(DeviceProfiles, congestion_control_settings) {
  DeviceProfiles profiles(table(false), 2, EvNaming::kPort);
  mrc_ctl_cc_nscc_cfg config{};
  config.max_cwnd = 50000;
  config.base_rtt = 20000;
  config.gamma = 0.5f;
  config.eta = -1;
  config.disable_qa = 1;
  mrc_ctl_cc_profile_attr attr{};
  attr.algorithm = ctl::kNsccName;
  attr.cc_config = &config;
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  constexpr int kState = MRC_CTL_CC_PROFILE_STATE;
  ASSERT_EQ(profiles.modify_cc(1, attr, kState | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG), 0);
  attr.algorithm = nullptr;
  ASSERT_EQ(profiles.modify_cc(2, attr, kState | MRC_CTL_CC_PROFILE_ALGORITHM), 0);
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  ASSERT_EQ(profiles.modify_cc(1, attr, kState), 0);
  ASSERT_EQ(profiles.modify_cc(2, attr, kState), 0);

  core::CongestionConfig base;
  base.measure_rtt = true;
  base.line_rate_bps = 7e9;
  base.algorithm = core::find_congestion_algorithm("none");
  DeviceProfiles::Hold hold;
  ASSERT_EQ(profiles.hold(0, 1, &hold), 0);
  auto made = profiles.congestion(hold, base);
  ASSERT_NE(made, nullptr);
  EXPECT_STREQ(made->algorithm->name, "nscc");
  EXPECT_EQ(made->get("max_cwnd", 0), 50000);
  EXPECT_EQ(made->base_rtt, Duration::microseconds(20));
  EXPECT_FALSE(made->measure_rtt);
  EXPECT_EQ(made->get("gamma", -1), 0.5);
  EXPECT_EQ(made->get("eta", -1), -1);
  EXPECT_EQ(made->get("fi", -1), -1);
  EXPECT_EQ(made->get("qa_gate", -1), -1);
  EXPECT_EQ(made->get("disable_qa", 0), 1);
  EXPECT_EQ(made->line_rate_bps, 7e9);
  profiles.release(hold);
  ASSERT_EQ(profiles.hold(0, 2, &hold), 0);
  EXPECT_STREQ(profiles.congestion(hold, base)->algorithm->name, "none");
}

// [MRC-CC-11]: every algorithm of the registry that has a name for profiles makes one.
TEST(DeviceProfiles, every_algorithm_can_be_chosen_by_profile) {
  DeviceProfiles profiles(table(false), 2, EvNaming::kPort);
  core::CongestionConfig base;
  base.line_rate_bps = 7e9;
  uint64_t id = 0;
  for (const core::CongestionAlgorithm* a : core::congestion_algorithms()) {
    mrc_ctl_cc_nscc_cfg config{};
    mrc_ctl_cc_profile_attr attr{};
    attr.algorithm = a->profile_name;
    attr.cc_config = &config;
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    constexpr int kState = MRC_CTL_CC_PROFILE_STATE;
    constexpr int kAll = kState | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG;
    ASSERT_EQ(profiles.modify_cc(++id, attr, kAll), 0) << a->name;
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    ASSERT_EQ(profiles.modify_cc(id, attr, kState), 0) << a->name;
    DeviceProfiles::Hold hold;
    ASSERT_EQ(profiles.hold(0, id, &hold), 0);
    EXPECT_EQ(profiles.congestion(hold, base)->algorithm, a);
    EXPECT_EQ(profiles.congestion(hold, base)->line_rate_bps, 7e9);
    profiles.release(hold);
  }
}

}  // namespace
}  // namespace mrc::device
