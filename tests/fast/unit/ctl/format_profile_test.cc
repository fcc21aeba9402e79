#include "ctl/format_profile.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "profiles.h"

namespace mrc::ctl {
namespace {

constexpr auto kUdp = MRC_CTL_EV_FMT_MODE_UDP;
constexpr uint64_t kFormatId = 0xFFFF'FFFF'FFFF'FFFF;  // any 64-bit number

class FormatProfileTest : public ::testing::Test {
 protected:
  mrc_ctl_profile_state state() {
    mrc_ctl_ev_fmt_profile_attr attr{};
    EXPECT_EQ(f.store.query_format(kFormatId, &attr, MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE),
              0);
    EXPECT_EQ(attr.profile_state, attr.cur_profile_state);
    return attr.profile_state;
  }
  void bring(mrc_ctl_profile_state to) {
    if (to == kInit) return;
    ASSERT_EQ(FormatCall().mode(kUdp).fields({16}).to(kOffline).on(&f.store, kFormatId), 0);
    if (to == kOnline) {
      ASSERT_EQ(FormatCall().to(kOnline).on(&f.store, kFormatId), 0);
    }
  }
  StoreFixture f;
};

// [MRC-CTL-1] [MRC-CTL-2]
TEST_F(FormatProfileTest, goes_up_and_down_step_by_step) {
  EXPECT_EQ(state(), kInit);
  ASSERT_EQ(FormatCall().from(kInit).mode(kUdp).to(kOffline).on(&f.store, kFormatId), 0);
  EXPECT_EQ(state(), kOffline);
  ASSERT_EQ(FormatCall().fields({16}).on(&f.store, kFormatId), 0);
  ASSERT_EQ(FormatCall().from(kOffline).to(kOnline).on(&f.store, kFormatId), 0);
  EXPECT_EQ(state(), kOnline);
  ASSERT_EQ(FormatCall().from(kOnline).to(kOffline).on(&f.store, kFormatId), 0);
  ASSERT_EQ(FormatCall().to(kInit).on(&f.store, kFormatId), 0);
  EXPECT_EQ(state(), kInit);
  EXPECT_EQ(f.store.format_ids(), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(FormatCall().to(kOnline).on(&f.store, kFormatId), EINVAL);  // nothing is remembered
}

TEST_F(FormatProfileTest, everything_in_one_step_and_one_call) {
  ASSERT_EQ(FormatCall().mode(kUdp).fields({16}).to(kOffline).on(&f.store, kFormatId), 0);
  ASSERT_EQ(FormatCall().to(kOnline).on(&f.store, kFormatId), 0);
}

TEST_F(FormatProfileTest, refuses_other_transitions) {
  EXPECT_EQ(FormatCall().mode(kUdp).fields({16}).to(kOnline).on(&f.store, kFormatId), EINVAL);
  bring(kOnline);
  EXPECT_EQ(FormatCall().to(kInit).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(FormatCall().from(kOffline).to(kOffline).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(FormatCall().to(static_cast<mrc_ctl_profile_state>(3)).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(FormatCall().to(static_cast<mrc_ctl_profile_state>(-1)).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(state(), kOnline);
}

TEST_F(FormatProfileTest, init_takes_no_attributes_alone) {
  EXPECT_EQ(FormatCall().mode(kUdp).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(state(), kInit);
  bring(kOffline);
  EXPECT_EQ(FormatCall().mode(kUdp).to(kInit).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(state(), kOffline);
}

// [MRC-FMT-1]
TEST_F(FormatProfileTest, needs_mode_then_fields) {
  EXPECT_EQ(FormatCall().fields({16}).to(kOffline).on(&f.store, kFormatId), EINVAL);
  ASSERT_EQ(FormatCall().mode(kUdp).to(kOffline).on(&f.store, kFormatId), 0);
  EXPECT_EQ(FormatCall().to(kOnline).on(&f.store, kFormatId), EINVAL);
  ASSERT_EQ(FormatCall().fields({16}).to(kOnline).on(&f.store, kFormatId), 0);
}

TEST_F(FormatProfileTest, online_does_not_change) {
  bring(kOnline);
  EXPECT_EQ(FormatCall().mode(kUdp).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(FormatCall().fields({8}).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(FormatCall().fields({8}).to(kOffline).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(FormatCall().to(kOnline).on(&f.store, kFormatId), 0);  // stays
}

TEST_F(FormatProfileTest, refused_fields_change_nothing) {
  bring(kOffline);
  EXPECT_EQ(FormatCall().fields({16, 1}).on(&f.store, kFormatId), E2BIG);
  EXPECT_EQ(FormatCall().fields({0}).on(&f.store, kFormatId), EINVAL);
  EXPECT_EQ(FormatCall().fields({}).on(&f.store, kFormatId), EINVAL);
  ASSERT_EQ(FormatCall().mode(MRC_CTL_EV_FMT_MODE_STEV).fields({16, 16}).on(&f.store, kFormatId), 0);
  EXPECT_EQ(FormatCall().mode(kUdp).on(&f.store, kFormatId), E2BIG);  // the fields it has do not fit any more
  EXPECT_EQ(f.store.format(kFormatId)->mode(), MRC_CTL_EV_FMT_MODE_STEV);
  EXPECT_EQ(f.store.format(kFormatId)->fields().size(), 2u);
}

// [MRC-FMT-2]
TEST_F(FormatProfileTest, busy_while_an_ev_profile_is_online) {
  ASSERT_EQ(f.explicit_online(7, 2), 0);
  EXPECT_EQ(FormatCall().to(kOffline).on(&f.store, 1), EBUSY);
  ASSERT_EQ(EvCall().to(kOffline).on(&f.store, 7), 0);
  EXPECT_EQ(FormatCall().to(kOffline).on(&f.store, 1), 0);
  EXPECT_EQ(EvCall().to(kOnline).on(&f.store, 7), EINVAL);  // and the other way round
}

// [MRC-FMT-2] A profile that only refers to it holds it as well: a file could not restore that profile.
TEST_F(FormatProfileTest, stays_while_an_ev_profile_names_it) {
  ASSERT_EQ(f.explicit_online(7, 2), 0);
  ASSERT_EQ(EvCall().to(kOffline).on(&f.store, 7), 0);
  ASSERT_EQ(FormatCall().to(kOffline).on(&f.store, 1), 0);
  EXPECT_EQ(FormatCall().to(kInit).on(&f.store, 1), EBUSY);
  ASSERT_EQ(EvCall().to(kInit).on(&f.store, 7), 0);
  EXPECT_EQ(FormatCall().to(kInit).on(&f.store, 1), 0);
}

// A profile that names no format does not use number 0.
TEST_F(FormatProfileTest, not_busy_for_those_without_a_format) {
  ASSERT_EQ(FormatCall().mode(kUdp).fields({16}).to(kOffline).on(&f.store, 0), 0);
  ASSERT_EQ(FormatCall().to(kOnline).on(&f.store, 0), 0);
  ASSERT_EQ(EvCall().mode(MRC_CTL_EV_MODE_AUTO).min(0).events(0).to(kOffline).on(&f.store, 7), 0);
  ASSERT_EQ(EvCall().to(kOnline).on(&f.store, 7), 0);
  EXPECT_EQ(FormatCall().to(kOffline).on(&f.store, 0), 0);
}

TEST_F(FormatProfileTest, modes_that_the_device_lacks) {
  Limits limits = StoreFixture::all();
  limits.format_modes = MRC_CTL_EV_FMT_MODE_UDP;
  StoreFixture small(limits);
  EXPECT_EQ(FormatCall().mode(MRC_CTL_EV_FMT_MODE_SRV6).to(kOffline).on(&small.store, kFormatId), ENOTSUP);
  EXPECT_EQ(FormatCall().mode(static_cast<mrc_ctl_ev_fmt_mode>(3)).to(kOffline).on(&small.store, kFormatId), EINVAL);
}

TEST_F(FormatProfileTest, no_more_than_the_device_has) {
  Limits limits = StoreFixture::all();
  limits.format_profiles = 3;
  StoreFixture small(limits);
  EXPECT_EQ(FormatCall().mode(kUdp).to(kOffline).on(&small.store, 3), 0);
  EXPECT_EQ(FormatCall().mode(kUdp).to(kOffline).on(&small.store, 4), E2BIG);
  EXPECT_EQ(FormatCall().to(kInit).on(&small.store, 3), 0);
  EXPECT_EQ(FormatCall().mode(kUdp).to(kOffline).on(&small.store, 4), 0);
}

// [MRC-CTL-3]
TEST_F(FormatProfileTest, query_fills_the_callers_array) {
  mrc_ctl_ev_fmt_field fields[8];
  mrc_ctl_ev_fmt_profile_attr attr{};
  constexpr int kMask = MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_PROFILE_MODE;
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_QUERY_FIELDS, fields, 6};
  EXPECT_EQ(f.store.query_format(2, &attr, kMask), E2BIG);
  EXPECT_EQ(attr.ev_fmt_op.fmt_field_count, 7);
  EXPECT_EQ(attr.ev_fmt_mode, 0);
  attr.ev_fmt_op.fmt_field_count = 8;
  EXPECT_EQ(f.store.query_format(2, &attr, kMask), 0);
  EXPECT_EQ(attr.ev_fmt_op.fmt_field_count, 7);
  EXPECT_EQ(fields[0].width, 32);
  EXPECT_EQ(fields[6].width, 16);
  EXPECT_EQ(attr.ev_fmt_mode, MRC_CTL_EV_FMT_MODE_SRV6);
}

TEST_F(FormatProfileTest, query_refuses) {
  mrc_ctl_ev_fmt_profile_attr attr{};
  EXPECT_EQ(f.store.query_format(kFormatId, &attr, MRC_CTL_EV_FMT_PROFILE_MODE), EINVAL);  // in INIT there is none
  EXPECT_EQ(f.store.query_format(2, &attr, 1 << 9), EINVAL);
  attr.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
  EXPECT_EQ(f.store.query_format(2, &attr, MRC_CTL_EV_FMT_PROFILE_OP), EINVAL);
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_QUERY_FIELDS, nullptr, 8};
  EXPECT_EQ(f.store.query_format(2, &attr, MRC_CTL_EV_FMT_PROFILE_OP), EINVAL);
  FormatCall call;
  call.attr.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
  call.mask = MRC_CTL_EV_FMT_PROFILE_OP;
  bring(kOffline);
  EXPECT_EQ(call.on(&f.store, kFormatId), EINVAL);
  call.mask = 1 << 9;
  EXPECT_EQ(call.on(&f.store, kFormatId), EINVAL);
}

TEST_F(FormatProfileTest, vendor_bytes_are_kept) {
  FormatCall call;
  call.attr.vendor_cfg[127] = 9;
  call.mask = MRC_CTL_EV_FMT_VENDOR_CFG;
  ASSERT_EQ(call.mode(kUdp).to(kOffline).on(&f.store, kFormatId), 0);
  mrc_ctl_ev_fmt_profile_attr attr{};
  ASSERT_EQ(f.store.query_format(kFormatId, &attr, MRC_CTL_EV_FMT_VENDOR_CFG), 0);
  EXPECT_EQ(attr.vendor_cfg[127], 9);
}

}  // namespace
}  // namespace mrc::ctl
