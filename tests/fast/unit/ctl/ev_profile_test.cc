#include "ctl/ev_profile.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "profiles.h"

namespace mrc::ctl {
namespace {

constexpr uint64_t kEvId = 42;

class EvProfileTest : public ::testing::Test {
 protected:
  int offline(uint32_t count) {
    return StoreFixture::explicit_offline(count).fields(f.port_field()).on(&f.store, kEvId);
  }
  StoreFixture f;
};

// [MRC-CTL-1]
TEST_F(EvProfileTest, goes_up_and_down_step_by_step) {
  EXPECT_EQ(f.state(kEvId), kInit);
  ASSERT_EQ(f.explicit_online(kEvId, 2), 0);
  EXPECT_EQ(f.state(kEvId), kOnline);
  EXPECT_EQ(EvCall().from(kOffline).to(kOffline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().to(kInit).on(&f.store, kEvId), EINVAL);
  ASSERT_EQ(EvCall().from(kOnline).to(kOffline).on(&f.store, kEvId), 0);
  ASSERT_EQ(EvCall().to(kOnline).on(&f.store, kEvId), 0);  // what it needs is still there
  ASSERT_EQ(EvCall().to(kOffline).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().min(1).to(kInit).on(&f.store, kEvId), EINVAL);
  ASSERT_EQ(EvCall().to(kInit).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.state(kEvId), kInit);
  EXPECT_EQ(f.store.free_evs(), f.store.limits().evs);
}

// [MRC-PROF-1]
TEST_F(EvProfileTest, offline_needs_mode_format_count_and_fields) {
  EXPECT_EQ(EvCall().format(1).count(4).fields(f.port_field()).to(kOffline).on(&f.store, kEvId), EINVAL);
  const auto expl = MRC_CTL_EV_MODE_EXP;
  EXPECT_EQ(EvCall().mode(expl).count(4).fields(f.port_field()).to(kOffline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().mode(expl).format(1).fields(f.port_field()).to(kOffline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().mode(expl).format(1).count(4).to(kOffline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().mode(expl).format(99).count(4).fields(f.port_field()).to(kOffline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().mode(expl).format(1).count(4).fields(f.port_field()).to(kOnline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().mode(static_cast<mrc_ctl_ev_mode>(3)).to(kOffline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(f.state(kEvId), kInit);
  EXPECT_EQ(EvCall().mode(expl).format(1).count(4).fields(f.port_field()).to(kOffline).on(&f.store, kEvId), 0);
}

TEST_F(EvProfileTest, count_within_the_device) {
  Limits limits = StoreFixture::all();
  limits.evs = 100;
  limits.evs_per_profile = 80;
  limits.ev_count_align = 4;
  StoreFixture small(limits);
  const auto make = [&](uint64_t id, uint32_t count) {
    return StoreFixture::explicit_offline(count).fields(small.port_field()).on(&small.store, id);
  };
  EXPECT_EQ(make(1, 0), EINVAL);
  EXPECT_EQ(make(1, 6), EINVAL);
  EXPECT_EQ(make(1, 84), E2BIG);
  EXPECT_EQ(make(1, 80), 0);
  EXPECT_EQ(small.store.free_evs(), 20u);
  EXPECT_EQ(make(2, 24), E2BIG);
  EXPECT_EQ(make(2, 20), 0);
  EXPECT_EQ(EvCall().count(76).on(&small.store, 1), 0);  // its own may be used again
  EXPECT_EQ(EvCall().count(80).on(&small.store, 1), 0);
}

TEST_F(EvProfileTest, modes_that_the_device_lacks) {
  Limits limits = StoreFixture::all();
  limits.ev_modes = MRC_CTL_EV_MODE_AUTO;
  limits.ev_profiles = 1;
  StoreFixture small(limits);
  EXPECT_EQ(StoreFixture::explicit_offline(4).fields(small.port_field()).on(&small.store, 1), ENOTSUP);
  EXPECT_EQ(EvCall().mode(MRC_CTL_EV_MODE_AUTO).to(kOffline).on(&small.store, 1), 0);
  EXPECT_EQ(EvCall().mode(MRC_CTL_EV_MODE_AUTO).to(kOffline).on(&small.store, 2), E2BIG);
}

// [MRC-PROF-3]
TEST_F(EvProfileTest, online_needs_minimum_event_mask_and_every_entry) {
  ASSERT_EQ(offline(2), 0);
  ASSERT_EQ(EvCall().replace(kNone, ev_of(1)).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().min(1).events(0).to(kOnline).on(&f.store, kEvId), EINVAL);
  ASSERT_EQ(EvCall().replace(kNone, ev_of(0)).on(&f.store, kEvId), 0);  // value 0 on port 1 is an EV
  EXPECT_EQ(EvCall().min(1).to(kOnline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().events(0).to(kOnline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().min(3).events(0).to(kOnline).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(f.state(kEvId), kOffline);
  EXPECT_EQ(EvCall().min(2).events(0).to(kOnline).on(&f.store, kEvId), 0);
}

TEST_F(EvProfileTest, populated_and_online_in_one_call) {
  ASSERT_EQ(offline(1), 0);
  EXPECT_EQ(EvCall().replace(kNone, ev_of(1)).min(1).events(0).to(kOnline).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.state(kEvId), kOnline);
}

TEST_F(EvProfileTest, needs_a_format_online_with_room_for_its_fields) {
  ASSERT_EQ(FormatCall().mode(MRC_CTL_EV_FMT_MODE_UDP).fields({10, 6}).to(kOffline).on(&f.store, 5), 0);
  const auto automatic = MRC_CTL_EV_MODE_AUTO;
  ASSERT_EQ(
      EvCall().mode(automatic).format(5).fields({{10, 0, 0, 0, 0}, {7, 0, 0, 0, 0}}).to(kOffline).on(&f.store, kEvId),
      0);
  EXPECT_EQ(EvCall().min(1).events(0).to(kOnline).on(&f.store, kEvId), EINVAL);
  ASSERT_EQ(FormatCall().to(kOnline).on(&f.store, 5), 0);
  EXPECT_EQ(EvCall().to(kOnline).on(&f.store, kEvId), EINVAL);  // the refused call gave no minimum
  EXPECT_EQ(EvCall().min(1).events(0).to(kOnline).on(&f.store, kEvId), E2BIG);
  ASSERT_EQ(EvCall().fields({{10, 0, 0, 0, 0}, {6, 0, 0, 0, 0}}).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().min(1).events(0).to(kOnline).on(&f.store, kEvId), 0);
}

TEST_F(EvProfileTest, event_mask_of_good_and_assumed_bad_only) {
  ASSERT_EQ(offline(1), 0);
  EXPECT_EQ(EvCall().events(MRC_CTL_EV_DENIED).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().events(MRC_CTL_EV_UNKNOWN).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().events(MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD).on(&f.store, kEvId), 0);
  Limits limits;
  StoreFixture without(limits);
  EXPECT_EQ(without.explicit_online(1, 1, MRC_CTL_EV_GOOD), ENOTSUP);
}

// [MRC-PROF-2]
TEST_F(EvProfileTest, online_shape_is_fixed) {
  ASSERT_EQ(f.explicit_online(kEvId, 2), 0);
  EXPECT_EQ(EvCall().mode(MRC_CTL_EV_MODE_AUTO).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().format(1).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().count(2).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().min(1).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().set(ev_of(1), MRC_CTL_EV_DENIED).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().replace(ev_of(1), ev_of(7)).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().events(MRC_CTL_EV_GOOD).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().fields({{16, 0, 0, 0, 0x7FFF}}).on(&f.store, kEvId),
            EINVAL);  // entries would change their meaning
  EXPECT_EQ(EvCall().fields({{16, 1, 0, 9, 0xFFFF}}).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().replace(ev_of(2), kNone).on(&f.store, kEvId), EINVAL);
}

TEST_F(EvProfileTest, online_changes_are_optional) {
  Limits limits = StoreFixture::all();
  limits.options = 0;
  StoreFixture plain(limits);
  ASSERT_EQ(plain.explicit_online(kEvId, 2), 0);
  EXPECT_EQ(EvCall().replace(ev_of(1), ev_of(7)).on(&plain.store, kEvId), ENOTSUP);
  EXPECT_EQ(EvCall().events(0).on(&plain.store, kEvId), ENOTSUP);
  EXPECT_EQ(EvCall().fields(plain.port_field()).on(&plain.store, kEvId), ENOTSUP);
  EXPECT_EQ(EvCall().set(ev_of(1), MRC_CTL_EV_DENIED).on(&plain.store, kEvId), 0);
}

// [MRC-PROF-4] [MRC-CTL-4]
TEST_F(EvProfileTest, busy_while_qps_hold_it) {
  ASSERT_EQ(offline(1), 0);
  bool counted = true;
  EXPECT_EQ(f.store.hold_ev(kEvId, &counted), EINVAL);
  EXPECT_EQ(f.store.hold_ev(4711, &counted), EINVAL);
  EXPECT_EQ(f.store.hold_ev(0, &counted), 0);
  EXPECT_FALSE(counted);
  ASSERT_EQ(EvCall().replace(kNone, ev_of(1)).min(0).events(0).to(kOnline).on(&f.store, kEvId), 0);
  ASSERT_EQ(f.store.hold_ev(kEvId, &counted), 0);
  EXPECT_TRUE(counted);
  ASSERT_EQ(f.store.hold_ev(kEvId, &counted), 0);
  EXPECT_EQ(EvCall().to(kOffline).on(&f.store, kEvId), EBUSY);
  f.store.release_ev(kEvId);
  EXPECT_EQ(EvCall().to(kOffline).on(&f.store, kEvId), EBUSY);
  f.store.release_ev(kEvId);
  EXPECT_EQ(EvCall().to(kOffline).on(&f.store, kEvId), 0);
}

TEST_F(EvProfileTest, number_zero_is_the_default_until_it_is_online) {
  bool counted = true;
  ASSERT_EQ(StoreFixture::explicit_offline(1).fields(f.port_field()).on(&f.store, 0), 0);
  EXPECT_EQ(f.store.hold_ev(0, &counted), 0);
  EXPECT_FALSE(counted);
  ASSERT_EQ(EvCall().replace(kNone, ev_of(1)).min(0).events(0).to(kOnline).on(&f.store, 0), 0);
  EXPECT_EQ(f.store.hold_ev(0, &counted), 0);
  EXPECT_TRUE(counted);
  EXPECT_EQ(EvCall().to(kOffline).on(&f.store, 0), EBUSY);
}

// [MRC-PROF-5]
TEST_F(EvProfileTest, batch_stops_at_the_first_failure) {
  ASSERT_EQ(offline(3), 0);
  const auto good = MRC_CTL_EV_GOOD;
  EXPECT_EQ(EvCall()
                .op(MRC_CTL_EV_OP_REPLACE_EV,
                    {{kNone, ev_of(1), good, 0}, {ev_of(9), ev_of(2), good, 0}, {kNone, ev_of(3), good, 0}})
                .on(&f.store, kEvId),
            ENOENT);
  EXPECT_EQ(f.ev_state(kEvId, ev_of(1)), good);
  EXPECT_EQ(f.ev_state(kEvId, ev_of(3)), MRC_CTL_EV_UNKNOWN);
  EXPECT_EQ(f.store.ev(kEvId)->table().unpopulated(), 2u);
}

// [MRC-PROF-5] [MRC-CTL-2] The step out of INIT is not made, and INIT keeps nothing.
TEST_F(EvProfileTest, a_failing_batch_leaves_a_profile_in_init) {
  EvCall call = StoreFixture::explicit_offline(3);
  call.replace(ev_of(9), ev_of(1));
  EXPECT_EQ(call.on(&f.store, kEvId), EINVAL);  // no fields
  EvCall second = StoreFixture::explicit_offline(3);
  second.attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
  second.set(ev_of(9), MRC_CTL_EV_DENIED);
  EXPECT_EQ(second.on(&f.store, kEvId), ENOENT);
  EXPECT_EQ(f.state(kEvId), kInit);
  EXPECT_EQ(f.store.ev(kEvId), nullptr);
  EXPECT_EQ(f.store.free_evs(), f.store.limits().evs);
  EXPECT_EQ(offline(3), 0);
}

TEST_F(EvProfileTest, one_operation_per_call) {
  ASSERT_EQ(offline(1), 0);
  EXPECT_EQ(EvCall().replace(kNone, ev_of(1)).fields(f.port_field()).on(&f.store, kEvId), EINVAL);
  mrc_ctl_ev_profile_attr attr{};
  EXPECT_EQ(f.store.query_ev(kEvId, &attr, MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP), EINVAL);
  EXPECT_EQ(EvCall().on(&f.store, kEvId), 0);
}

TEST_F(EvProfileTest, batch_within_the_devices_size) {
  Limits limits = StoreFixture::all();
  limits.ev_op_entries = 2;
  StoreFixture small(limits);
  ASSERT_EQ(StoreFixture::explicit_offline(3).fields(small.port_field()).on(&small.store, kEvId), 0);
  const mrc_ctl_ev_op_entry entry{kNone, ev_of(1), MRC_CTL_EV_GOOD, 0};
  EXPECT_EQ(EvCall().op(MRC_CTL_EV_OP_REPLACE_EV, {entry, entry, entry}).on(&small.store, kEvId), E2BIG);
  EXPECT_EQ(EvCall().op(MRC_CTL_EV_OP_REPLACE_EV, {entry, entry}).on(&small.store, kEvId), 0);
  mrc_ctl_ev_op_entry asked[3] = {{ev_of(1)}, {ev_of(1)}, {ev_of(1)}};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, asked, 3};
  EXPECT_EQ(small.store.query_ev(kEvId, &attr, MRC_CTL_EV_PROFILE_EV_OP), E2BIG);
}

// [MRC-PROF-6]
TEST_F(EvProfileTest, replace_checks_the_new_ev) {
  ASSERT_EQ(StoreFixture::explicit_offline(2).fields({{16, 0, 0, 0, 0xFF}}).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().replace(kNone, ev_of(0x1200, 0)).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().replace(kNone, ev_of(0x1200, 5)).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().replace(kNone, ev_of(0x1201, 1)).on(&f.store, kEvId), EINVAL);  // the mask takes 8 bits
  EXPECT_EQ(EvCall().replace(kNone, ev_of(0x1200), MRC_CTL_EV_UNKNOWN).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().replace(kNone, ev_of(0x1200), MRC_CTL_EV_GOOD, 2).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().replace(ev_of(0x1300), ev_of(0x1200)).on(&f.store, kEvId), ENOENT);
  EXPECT_EQ(
      EvCall().replace(kNone, ev_of(0x1200, 4), MRC_CTL_EV_DENIED, MRC_CTL_EV_OP_F_ALL_COPIES).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.store.ev(kEvId)->table().unpopulated(), 0u);
  EXPECT_EQ(f.ev_state(kEvId, ev_of(0x1200, 4)), MRC_CTL_EV_DENIED);
  EXPECT_EQ(EvCall().replace(ev_of(0x1200, 4), kNone, MRC_CTL_EV_UNKNOWN).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.store.ev(kEvId)->table().unpopulated(), 1u);
}

TEST_F(EvProfileTest, state_operations) {
  ASSERT_EQ(f.explicit_online(kEvId, 2), 0);
  EXPECT_EQ(EvCall().set(ev_of(9), MRC_CTL_EV_DENIED).on(&f.store, kEvId), ENOENT);
  EXPECT_EQ(EvCall().set(ev_of(1, 2), MRC_CTL_EV_DENIED).on(&f.store, kEvId), ENOENT);  // another port, another EV
  EXPECT_EQ(EvCall().set(kNone, MRC_CTL_EV_DENIED).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().set(ev_of(1), static_cast<mrc_ctl_ev_state>(3)).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().set(ev_of(1), MRC_CTL_EV_UNKNOWN).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().set(ev_of(1), MRC_CTL_EV_DENIED).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.ev_state(kEvId, ev_of(1)), MRC_CTL_EV_DENIED);
  EXPECT_EQ(f.ev_state(kEvId, ev_of(2)), MRC_CTL_EV_GOOD);
  EXPECT_EQ(EvCall().op(MRC_CTL_EV_OP_QUERY_EV_STATE, {}).on(&f.store, kEvId), EINVAL);
  mrc_ctl_ev_op_entry missing{ev_of(9), {}, MRC_CTL_EV_GOOD, 0};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, &missing, 1};
  EXPECT_EQ(f.store.query_ev(kEvId, &attr, MRC_CTL_EV_PROFILE_EV_OP), ENOENT);
  attr.ev_op.op = MRC_CTL_EV_OP_REPLACE_EV;
  EXPECT_EQ(f.store.query_ev(kEvId, &attr, MRC_CTL_EV_PROFILE_EV_OP), EINVAL);
}

// [MRC-CTL-3]
TEST_F(EvProfileTest, queries_report_what_was_set) {
  ASSERT_EQ(f.explicit_online(kEvId, 3, MRC_CTL_EV_ASSUMED_BAD), 0);
  mrc_ctl_ev_op_entry entries[3];
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, entries, 2};
  EXPECT_EQ(f.store.query_ev(kEvId, &attr, MRC_CTL_EV_PROFILE_EV_OP), E2BIG);
  EXPECT_EQ(attr.ev_op.entry_count, 3);
  ASSERT_EQ(f.store.query_ev(kEvId, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
  EXPECT_TRUE(same(entries[2].ev, ev_of(3)));
  mrc_ctl_ev_field field;
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, &field, 0};
  EXPECT_EQ(f.store.query_ev(kEvId, &attr, MRC_CTL_EV_PROFILE_EV_FIELDS_OP), E2BIG);
  EXPECT_EQ(attr.ev_fields_op.field_count, 1);
  ASSERT_EQ(f.store.query_ev(kEvId, &attr,
                             MRC_CTL_EV_PROFILE_EV_FIELDS_OP | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                 MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                 MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_CUR_STATE),
            0);
  EXPECT_EQ(field.mask, 0xFFFFu);
  EXPECT_EQ(attr.ev_mode, MRC_CTL_EV_MODE_EXP);
  EXPECT_EQ(attr.ev_fmt_profile_id, 1u);
  EXPECT_EQ(attr.ev_count, 3u);
  EXPECT_EQ(attr.ev_min_active, 0u);
  EXPECT_EQ(attr.ev_event_mask, MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_EQ(attr.cur_profile_state, kOnline);
  EXPECT_EQ(f.store.query_ev(77, &attr, MRC_CTL_EV_PROFILE_MODE), EINVAL);
  EXPECT_EQ(f.store.query_ev(kEvId, &attr, 1 << 20), EINVAL);
}

TEST_F(EvProfileTest, auto_takes_the_devices_evs) {
  ASSERT_EQ(EvCall().mode(MRC_CTL_EV_MODE_AUTO).to(kOffline).on(&f.store, kEvId), 0);
  ASSERT_EQ(EvCall().min(2).events(0).to(kOnline).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.array(kEvId).size(), 8u);
  EXPECT_TRUE(same(f.array(kEvId)[5].ev, ev_of(0x4005, 2)));
  EXPECT_EQ(EvCall().replace(ev_of(0x4005, 2), ev_of(1)).on(&f.store, kEvId), EINVAL);
  EXPECT_EQ(EvCall().set(ev_of(0x4005, 2), MRC_CTL_EV_DENIED).on(&f.store, kEvId), 0);
  EXPECT_EQ(EvCall().mode(MRC_CTL_EV_MODE_AUTO).count(3).to(kOffline).on(&f.store, 2), 0);
  EXPECT_EQ(f.array(2).size(), 3u);
  EXPECT_EQ(EvCall().mode(MRC_CTL_EV_MODE_AUTO).count(9).to(kOffline).on(&f.store, 3), E2BIG);
}

TEST_F(EvProfileTest, generated_from_fields) {
  const std::vector<mrc_ctl_ev_field> fields{{16, 0xC000, 1, 15, 0xF}};
  const auto generated = MRC_CTL_EV_MODE_GEN;
  EXPECT_EQ(EvCall().mode(generated).format(1).count(16).fields(fields).to(kOffline).on(&f.store, kEvId), E2BIG);
  ASSERT_EQ(EvCall().mode(generated).format(1).count(15).fields(fields).to(kOffline).on(&f.store, kEvId), 0);
  ASSERT_EQ(EvCall().min(4).events(0).to(kOnline).on(&f.store, kEvId), 0);
  std::set<uint8_t> seen;
  for (const mrc_ctl_ev_op_entry& entry : f.array(kEvId)) {
    EXPECT_EQ(entry.state, MRC_CTL_EV_GOOD);
    seen.insert(entry.ev.val[0]);
  }
  EXPECT_EQ(seen.size(), 15u);
  EXPECT_EQ(EvCall().replace(f.array(kEvId)[0].ev, ev_of(0x10)).on(&f.store, kEvId), EINVAL);
}

// [MRC-PROF-8]
TEST_F(EvProfileTest, reshaping_empties_the_entries) {
  ASSERT_EQ(offline(2), 0);
  ASSERT_EQ(EvCall().replace(kNone, ev_of(0x1200)).on(&f.store, kEvId), 0);
  ASSERT_EQ(EvCall().fields({{16, 3, 0, 0, 0xFFFF}}).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.store.ev(kEvId)->table().unpopulated(), 1u);
  ASSERT_EQ(EvCall().fields({{16, 3, 0, 0, 0xFF00}}).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.store.ev(kEvId)->table().unpopulated(), 2u);
  ASSERT_EQ(EvCall().replace(kNone, ev_of(0x1200)).on(&f.store, kEvId), 0);
  ASSERT_EQ(EvCall().count(5).on(&f.store, kEvId), 0);
  EXPECT_EQ(f.store.ev(kEvId)->table().unpopulated(), 5u);
}

// [MRC-PROF-7]
TEST_F(EvProfileTest, paths_change_states_and_raise_what_the_mask_asks_for) {
  ASSERT_EQ(f.explicit_online(1, 2, MRC_CTL_EV_ASSUMED_BAD), 0);
  ASSERT_EQ(f.explicit_online(2, 2, 0), 0);
  ASSERT_EQ(EvCall().set(ev_of(2), MRC_CTL_EV_DENIED).on(&f.store, 1), 0);
  const auto name = [](const mrc_ctl_ev& known) {
    return [known](uint64_t, mrc_ctl_ev* ev) {
      *ev = known;
      return true;
    };
  };
  const auto wanted = [](std::vector<EvChange> all) {
    all.erase(std::remove_if(all.begin(), all.end(), [](const EvChange& change) { return !change.wanted; }), all.end());
    return all;
  };
  const std::vector<EvChange> changes = wanted(f.store.on_path(MRC_CTL_EV_ASSUMED_BAD, name(ev_of(1, 1))));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].profile_id, 1u);
  EXPECT_TRUE(same(changes[0].ev, ev_of(1)));
  EXPECT_EQ(changes[0].state, MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_EQ(f.ev_state(2, ev_of(1)), MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_TRUE(f.store.on_path(MRC_CTL_EV_ASSUMED_BAD, name(ev_of(1, 1))).empty());   // it is already
  EXPECT_TRUE(wanted(f.store.on_path(MRC_CTL_EV_GOOD, name(ev_of(1, 1)))).empty());  // this one was not requested
  EXPECT_EQ(f.ev_state(1, ev_of(1)), MRC_CTL_EV_GOOD);
  EXPECT_TRUE(wanted(f.store.on_path(MRC_CTL_EV_ASSUMED_BAD, name(ev_of(2, 1)))).empty());
  EXPECT_EQ(f.ev_state(1, ev_of(2)), MRC_CTL_EV_DENIED);
  EXPECT_TRUE(f.store.on_path(MRC_CTL_EV_ASSUMED_BAD, name(ev_of(1, 2))).empty());  // another port, another EV
}

}  // namespace
}  // namespace mrc::ctl
