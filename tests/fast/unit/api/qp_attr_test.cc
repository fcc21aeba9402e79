// The attribute rules of mrc_modify_qp, rule by rule, without a device. [API-QP-*]
#include "api/qp_attr.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mrc::api {
namespace {

using core::QpState;

constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRtsMask = IBV_QP_STATE | IBV_QP_SQ_PSN;

class QpAttrTest : public ::testing::Test {
 protected:
  QpAttrTest() : settings(initial_settings(core::QpAttr())) {
    limits.max_mpr = 64;
    limits.mpr_resolution = 2;
    limits.max_wimm = 512;
    limits.max_wimm_dest = 256;
    limits.max_mtu = 4096;
    limits.gids = 4;
    limits.usable_gids = 0b1011;
    verbs.ah_attr.is_global = 1;
    verbs.ah_attr.grh.dgid.raw[15] = 1;
    verbs.ah_attr.grh.sgid_index = 3;
    verbs.path_mtu = IBV_MTU_4096;
    verbs.dest_qp_num = 0x123456;
    verbs.rq_psn = 0x111111;
    verbs.sq_psn = 0x222222;
    verbs.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    attr.mpr = {32, 32};
    attr.wimm = {128, 128};
  }
  int go(QpState from, int to, int mask, int mrc_mask = 0) {
    std::memcpy(&verbs.qp_state, &to, sizeof to);  // may be no state at all
    return check_modify(settings, from, limits, &verbs, mask, &attr, mrc_mask, &settings, &state);
  }
  int set(QpState from, int mask, int mrc_mask = 0) {
    return check_modify(settings, from, limits, &verbs, mask, &attr, mrc_mask, &settings, &state);
  }

  QpSettings settings;
  ModifyLimits limits;
  ibv_qp_attr verbs{};
  mrc_qp_attr attr{};
  QpState state = QpState::kReset;
};

TEST_F(QpAttrTest, walks_up_to_rts) {
  EXPECT_EQ(go(QpState::kReset, IBV_QPS_INIT, kInitMask), 0);
  EXPECT_EQ(state, QpState::kInit);
  EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask), 0);
  EXPECT_EQ(state, QpState::kRtr);
  EXPECT_EQ(go(QpState::kRtr, IBV_QPS_RTS, kRtsMask), 0);
  EXPECT_EQ(state, QpState::kRts);
  core::QpAttr out;
  apply_settings(settings, &out);
  EXPECT_EQ(out.dest_qpn, Qpn(0x123456));
  EXPECT_EQ(out.path_mtu, 4096u);
  EXPECT_EQ(out.rq_psn.value(), 0x111111u);
  EXPECT_EQ(out.sq_psn.value(), 0x222222u);
  EXPECT_EQ(out.access, 3u);
  EXPECT_EQ(out.pkey, 0xFFFFu);
  EXPECT_EQ(out.mpr, core::QpAttr().mpr);
  EXPECT_EQ(out.retry_exp, 15);
}

// [API-QP-1]
TEST_F(QpAttrTest, only_the_transitions_of_the_state_machine_exist) {
  const QpState states[] = {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts, QpState::kError};
  // Rows: from; columns: to RESET, INIT, RTR, RTS, ERR.
  const bool legal[5][5] = {{1, 1, 0, 0, 1}, {1, 1, 1, 0, 1}, {1, 0, 0, 1, 1}, {1, 0, 0, 1, 1}, {1, 0, 0, 0, 1}};
  for (int f = 0; f < 5; ++f)
    for (int t = 0; t < 5; ++t) {
      settings = initial_settings(core::QpAttr());
      int mask = IBV_QP_STATE;
      if (t == 2) mask = kRtrMask;
      if (t == 3 && f == 2) mask = kRtsMask;
      EXPECT_EQ(go(states[f], to_verbs(states[t]), mask), legal[f][t] ? 0 : EINVAL) << f << " to " << t;
    }
}

TEST_F(QpAttrTest, states_of_verbs_that_mrc_lacks_are_refused) {
  for (int s : {int{IBV_QPS_SQD}, int{IBV_QPS_SQE}, int{IBV_QPS_UNKNOWN}, 99}) {
    EXPECT_EQ(go(QpState::kRts, s, IBV_QP_STATE), EINVAL);
  }
}

// [API-QP-2]
TEST_F(QpAttrTest, rtr_needs_its_four_attributes_in_this_call_or_before) {
  for (int missing : {IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_DEST_QPN, IBV_QP_RQ_PSN}) {
    settings = initial_settings(core::QpAttr());
    EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask & ~missing), EINVAL) << missing;
    EXPECT_EQ(set(QpState::kInit, missing), 0);
    EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask & ~missing), 0) << missing;
  }
}

TEST_F(QpAttrTest, rts_needs_sq_psn) {
  EXPECT_EQ(go(QpState::kRtr, IBV_QPS_RTS, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(go(QpState::kRtr, IBV_QPS_RTS, kRtsMask), 0);
}

TEST_F(QpAttrTest, cur_state_is_asserted) {
  verbs.cur_qp_state = IBV_QPS_RTR;
  EXPECT_EQ(go(QpState::kRts, IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
  verbs.cur_qp_state = IBV_QPS_RTS;
  EXPECT_EQ(go(QpState::kRts, IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
}

// spec/clients.md rule 4: wild values of attributes that MRC has not are taken, kept for a query, and change nothing.
// [API-QP-4]
TEST_F(QpAttrTest, verbs_attributes_without_use_are_taken_whatever_their_value) {
  verbs.port_num = 77;
  verbs.timeout = 255;
  verbs.retry_cnt = 14;
  verbs.rnr_retry = 14;
  verbs.min_rnr_timer = 200;
  verbs.max_rd_atomic = 255;
  verbs.max_dest_rd_atomic = 255;
  verbs.path_mig_state = static_cast<ibv_mig_state>(9);
  verbs.alt_ah_attr.is_global = 0;
  constexpr int kUseless = IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
                           IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
                           IBV_QP_PATH_MIG_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_QKEY | IBV_QP_RATE_LIMIT;
  EXPECT_EQ(go(QpState::kReset, IBV_QPS_INIT, kInitMask | kUseless), 0);
  EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask | kUseless), 0);
  EXPECT_EQ(go(QpState::kRtr, IBV_QPS_RTS, kRtsMask | kUseless), 0);
  EXPECT_EQ(settings.verbs.retry_cnt, 14);
  core::QpAttr out;
  apply_settings(settings, &out);
  EXPECT_EQ(out.timeout, core::QpAttr().timeout);
  EXPECT_EQ(out.retry_exp, core::QpAttr().retry_exp);
}

// spec/clients.md rule 20. [API-ERR-2]
TEST_F(QpAttrTest, unknown_bits_are_refused) {
  for (int bit : {21, 22, 23, 24, 26, 30, 31})
    EXPECT_EQ(set(QpState::kInit, static_cast<int>(1u << bit)), EINVAL) << bit;
  for (int bit = 10; bit < 31; ++bit) EXPECT_EQ(set(QpState::kInit, 0, static_cast<int>(1u << bit)), EINVAL) << bit;
  EXPECT_EQ(set(QpState::kInit, 0, MRC_QP_VENDOR_CFG), 0);
}

TEST_F(QpAttrTest, members_outside_the_masks_are_left_unread) {
  std::memset(&verbs, 0xA5, sizeof verbs);
  std::memset(&attr, 0xA5, sizeof attr);
  verbs.qp_state = IBV_QPS_INIT;
  EXPECT_EQ(set(QpState::kReset, IBV_QP_STATE), 0);
  EXPECT_EQ(settings.mrc.qp_hint, nullptr);
  EXPECT_EQ(settings.mrc.mpr.mpr, core::QpAttr().mpr);
  EXPECT_EQ(settings.verbs.dest_qp_num, 0u);
}

TEST_F(QpAttrTest, null_structures_go_with_empty_masks_only) {
  QpSettings next;
  EXPECT_EQ(check_modify(settings, QpState::kRts, limits, nullptr, 0, nullptr, 0, &next, &state), 0);
  EXPECT_EQ(check_modify(settings, QpState::kRts, limits, nullptr, IBV_QP_STATE, nullptr, 0, &next, &state), EINVAL);
  EXPECT_EQ(check_modify(settings, QpState::kRts, limits, nullptr, 0, nullptr, MRC_QP_MPR, &next, &state), EINVAL);
}

TEST_F(QpAttrTest, failure_changes_nothing) {
  attr.mpr.mpr = 4;
  attr.timeout = 25;
  std::array<uint8_t, sizeof(QpSettings)> before, after;
  std::memcpy(before.data(), &settings, before.size());
  EXPECT_EQ(set(QpState::kInit, IBV_QP_DEST_QPN, MRC_QP_MPR | MRC_QP_TIMEOUT), EINVAL);
  std::memcpy(after.data(), &settings, after.size());
  EXPECT_EQ(before, after);
}

// [API-QP-3]
TEST_F(QpAttrTest, address_must_be_global_with_a_usable_source) {
  verbs.ah_attr.is_global = 0;
  EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask), EINVAL);
  verbs.ah_attr.is_global = 1;
  verbs.ah_attr.grh.sgid_index = 4;  // beyond the table
  EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask), EINVAL);
  verbs.ah_attr.grh.sgid_index = 2;  // an empty entry
  EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask), EINVAL);
  verbs.ah_attr.grh.sgid_index = 0;
  verbs.ah_attr.grh.dgid.raw[15] = 0;  // no peer
  EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask), EINVAL);
  verbs.ah_attr.grh.dgid.raw[15] = 1;
  verbs.ah_attr.grh.hop_limit = 0;  // rule 9
  EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask), 0);
}

TEST_F(QpAttrTest, path_mtu_on_both_sides_of_its_limits) {
  const struct {
    int mtu;
    uint32_t device;
    int result;
  } cases[] = {{0, 4096, EINVAL},
               {IBV_MTU_256, 4096, 0},
               {IBV_MTU_4096, 4096, 0},
               {IBV_MTU_4096, 2048, EINVAL},
               {IBV_MTU_2048, 2048, 0},
               {6, 4096, EINVAL},
               {6, 8192, 0},
               {7, 65536, EINVAL}};
  for (const auto& c : cases) {
    settings = initial_settings(core::QpAttr());
    limits.max_mtu = c.device;
    verbs.path_mtu = static_cast<ibv_mtu>(c.mtu);
    EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask), c.result) << c.mtu << " of " << c.device;
  }
  EXPECT_EQ(mtu_bytes(IBV_MTU_256), 256u);
  EXPECT_EQ(mtu_bytes(6), 8192u);
}

TEST_F(QpAttrTest, numbers_of_24_bits) {
  verbs.dest_qp_num = 0x1000000;
  EXPECT_EQ(set(QpState::kInit, IBV_QP_DEST_QPN), EINVAL);
  verbs.dest_qp_num = 0xFFFFFF;
  EXPECT_EQ(set(QpState::kInit, IBV_QP_DEST_QPN), 0);
  verbs.rq_psn = 0xFF123456;
  EXPECT_EQ(set(QpState::kInit, IBV_QP_RQ_PSN), 0);
  EXPECT_EQ(settings.verbs.rq_psn, 0x123456u);
}

TEST_F(QpAttrTest, pkey_index_is_in_the_table) {
  verbs.pkey_index = 1;
  EXPECT_EQ(go(QpState::kReset, IBV_QPS_INIT, kInitMask), EINVAL);
  verbs.pkey_index = 0;
  EXPECT_EQ(go(QpState::kReset, IBV_QPS_INIT, kInitMask), 0);
}

// [API-QP-5]
TEST_F(QpAttrTest, mrc_values_on_both_sides_of_their_limits) {
  struct Case {
    int mask;
    void (*write)(mrc_qp_attr*, int);
    int good[2];
    int bad[2];
  };
  const Case cases[] = {
      {MRC_QP_TIMEOUT, [](mrc_qp_attr* a, int v) { a->timeout = static_cast<uint8_t>(v); }, {0, 24}, {25, 255}},
      {MRC_QP_RETRY_CNT,
       [](mrc_qp_attr* a, int v) {
         a->retry = {static_cast<uint8_t>(v), 0};
       },
       {0, 7},
       {8, 255}},
      {MRC_QP_RETRY_CNT,
       [](mrc_qp_attr* a, int v) {
         a->retry = {0, static_cast<uint8_t>(v)};
       },
       {0, 25},
       {26, 255}},
      {MRC_QP_MPR, [](mrc_qp_attr* a, int v) { a->mpr.mpr = static_cast<uint8_t>(v); }, {2, 64}, {0, 66}},
      {MRC_QP_MPR_DEST, [](mrc_qp_attr* a, int v) { a->mpr.mpr_dest = static_cast<uint8_t>(v); }, {2, 64}, {3, 66}},
      {MRC_QP_MAX_WIMM, [](mrc_qp_attr* a, int v) { a->wimm.max_wimm = static_cast<uint16_t>(v); }, {1, 512}, {0, 513}},
      {MRC_QP_MAX_WIMM_DEST,
       [](mrc_qp_attr* a, int v) { a->wimm.max_wimm_dest = static_cast<uint16_t>(v); },
       {1, 256},
       {0, 257}},
      {MRC_QP_CAP, [](mrc_qp_attr* a, int v) { a->cap = static_cast<uint32_t>(v); }, {0, 7}, {8, 15}},
  };
  for (const Case& c : cases) {
    for (int v : c.good) {
      c.write(&attr, v);
      EXPECT_EQ(set(QpState::kInit, 0, c.mask), 0) << c.mask << " = " << v;
    }
    for (int v : c.bad) {
      c.write(&attr, v);
      EXPECT_EQ(set(QpState::kInit, 0, c.mask), EINVAL) << c.mask << " = " << v;
    }
  }
}

// [API-QP-5] The device checks whether there is such a profile; here it only must not be set too late.
TEST_F(QpAttrTest, profile_ids_are_taken_before_rtr) {
  constexpr int kIds = MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID;
  attr.profile = {UINT64_MAX, 7};
  EXPECT_EQ(set(QpState::kInit, 0, kIds), 0);
  EXPECT_EQ(settings.mrc.profile.ev_profile_id, UINT64_MAX);
  EXPECT_EQ(settings.mrc.profile.cc_profile_id, 7u);
  EXPECT_EQ(set(QpState::kRts, 0, kIds), 0);  // the ones in force
  attr.profile = {UINT64_MAX, 8};
  EXPECT_EQ(set(QpState::kRts, 0, kIds), EINVAL);
}

// Requester values come with RTR in some programs, and all values again with RTS in others.
TEST_F(QpAttrTest, early_values_are_taken_late_ones_only_when_they_change_nothing) {
  constexpr int kAll = MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR | MRC_QP_MPR_DEST | MRC_QP_TIMEOUT |
                       MRC_QP_RETRY_CNT | MRC_QP_CAP;
  attr.timeout = 20;
  attr.mpr = {16, 16};
  EXPECT_EQ(go(QpState::kInit, IBV_QPS_RTR, kRtrMask, kAll), 0);
  EXPECT_EQ(go(QpState::kRtr, IBV_QPS_RTS, kRtsMask, kAll), 0);
  EXPECT_EQ(settings.mrc.timeout, 20);
  attr.mpr.mpr_dest = 18;
  EXPECT_EQ(set(QpState::kRts, 0, MRC_QP_MPR_DEST), EINVAL);
  attr.mpr.mpr = 18;
  EXPECT_EQ(set(QpState::kRts, 0, MRC_QP_MPR), EINVAL);
  attr.timeout = 10;
  EXPECT_EQ(set(QpState::kRts, 0, MRC_QP_TIMEOUT), 0);
}

TEST_F(QpAttrTest, late_verbs_values_are_refused) {
  for (int mask : {IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_DEST_QPN, IBV_QP_RQ_PSN, IBV_QP_SQ_PSN, IBV_QP_PKEY_INDEX})
    EXPECT_EQ(set(QpState::kRts, mask), EINVAL) << mask;
  EXPECT_EQ(set(QpState::kRts, IBV_QP_ACCESS_FLAGS), 0);
  EXPECT_EQ(set(QpState::kInit, IBV_QP_CAP), EINVAL);
}

TEST_F(QpAttrTest, going_to_error_or_reset_reads_nothing_else) {
  std::memset(&verbs, 0xA5, sizeof verbs);
  EXPECT_EQ(go(QpState::kRts, IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_AV), 0);
  EXPECT_EQ(go(QpState::kError, IBV_QPS_RESET, IBV_QP_STATE | IBV_QP_AV), 0);
}

}  // namespace
}  // namespace mrc::api
