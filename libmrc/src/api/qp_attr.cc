#include "api/qp_attr.h"

#include <cerrno>
#include <cstring>

#include "api/errors.h"
#include "api/limits.h"

namespace mrc::api {

using core::QpState;

namespace {

constexpr int kKnownVerbs = (IBV_QP_DEST_QPN << 1) - 1;  // bits 0..20 all have names
constexpr int kKnownVerbsMask = kKnownVerbs | IBV_QP_RATE_LIMIT;
constexpr int kKnownMrcMask = MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR | MRC_QP_MPR_DEST | MRC_QP_TIMEOUT |
                              MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID | MRC_QP_HINT | MRC_QP_RETRY_CNT |
                              MRC_QP_CAP | MRC_QP_VENDOR_CFG;
constexpr uint32_t kKnownCaps =
    MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED | MRC_QP_CAP_DYNAMIC_MPR | MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED;
// [API-QP-2]
constexpr int kNeededForRtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kNeededForRts = IBV_QP_SQ_PSN;
constexpr uint32_t kMask24 = 0xFFFFFF;

// Verbs attributes that MRC honours. Late values, which could not take effect any more, are refused; the attributes
// unused by MRC are copied without a check of their value, because programs set arbitrary ones [API-QP-4].
int take_verbs(const ibv_qp_attr& in, int mask, QpState from, QpState to, const ModifyLimits& limits, QpSettings* s) {
  ibv_qp_attr& out = s->verbs;
  const bool before_rtr = from == QpState::kReset || from == QpState::kInit;
  const bool before_rts = before_rtr || from == QpState::kRtr;
  if ((mask & (kNeededForRtr | IBV_QP_PKEY_INDEX)) != 0 && !before_rtr) return EINVAL;
  if ((mask & IBV_QP_SQ_PSN) != 0 && !before_rts) return EINVAL;
  if (mask & IBV_QP_CAP) return EINVAL;  // a queue does not change its size
  if (mask & IBV_QP_PKEY_INDEX) {
    if (in.pkey_index >= kPkeys) return EINVAL;
    out.pkey_index = in.pkey_index;
  }
  if (mask & IBV_QP_ACCESS_FLAGS) out.qp_access_flags = in.qp_access_flags;
  if (mask & IBV_QP_AV) {
    if (!address_valid(in.ah_attr, limits)) return EINVAL;
    out.ah_attr = in.ah_attr;
  }
  if (mask & IBV_QP_PATH_MTU) {
    const uint32_t bytes = mtu_bytes(raw(in.path_mtu));
    if (bytes == 0 || bytes > limits.max_mtu) return EINVAL;
    out.path_mtu = in.path_mtu;
  }
  if (mask & IBV_QP_DEST_QPN) {
    if (in.dest_qp_num > kMask24) return EINVAL;
    out.dest_qp_num = in.dest_qp_num;
  }
  if (mask & IBV_QP_RQ_PSN) out.rq_psn = in.rq_psn & kMask24;
  if (mask & IBV_QP_SQ_PSN) out.sq_psn = in.sq_psn & kMask24;
  if (mask & IBV_QP_PORT) out.port_num = in.port_num;
  if (mask & IBV_QP_TIMEOUT) out.timeout = in.timeout;
  if (mask & IBV_QP_RETRY_CNT) out.retry_cnt = in.retry_cnt;
  if (mask & IBV_QP_RNR_RETRY) out.rnr_retry = in.rnr_retry;
  if (mask & IBV_QP_MIN_RNR_TIMER) out.min_rnr_timer = in.min_rnr_timer;
  if (mask & IBV_QP_MAX_QP_RD_ATOMIC) out.max_rd_atomic = in.max_rd_atomic;
  if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) out.max_dest_rd_atomic = in.max_dest_rd_atomic;
  s->verbs_set |= mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE);
  if (to == QpState::kRtr && (s->verbs_set & kNeededForRtr) != kNeededForRtr) return EINVAL;
  if (from == QpState::kRtr && to == QpState::kRts && (s->verbs_set & kNeededForRts) != kNeededForRts) return EINVAL;
  return 0;
}

bool mpr_valid(uint8_t mpr, const ModifyLimits& limits) {
  return mpr >= 1 && mpr <= limits.max_mpr && mpr % limits.mpr_resolution == 0;
}

// [API-QP-5]
int take_mrc(const mrc_qp_attr& in, int mask, QpState from, const ModifyLimits& limits, QpSettings* s) {
  mrc_qp_attr& out = s->mrc;
  const mrc_qp_attr before = out;
  if (mask & MRC_QP_MAX_WIMM) {
    if (in.wimm.max_wimm < 1 || in.wimm.max_wimm > limits.max_wimm) return EINVAL;
    out.wimm.max_wimm = in.wimm.max_wimm;
  }
  if (mask & MRC_QP_MAX_WIMM_DEST) {
    if (in.wimm.max_wimm_dest < 1 || in.wimm.max_wimm_dest > limits.max_wimm_dest) return EINVAL;
    out.wimm.max_wimm_dest = in.wimm.max_wimm_dest;
  }
  if (mask & MRC_QP_MPR) {
    if (!mpr_valid(in.mpr.mpr, limits)) return EINVAL;
    out.mpr.mpr = in.mpr.mpr;
  }
  if (mask & MRC_QP_MPR_DEST) {
    if (!mpr_valid(in.mpr.mpr_dest, limits)) return EINVAL;
    out.mpr.mpr_dest = in.mpr.mpr_dest;
  }
  if (mask & MRC_QP_TIMEOUT) {
    if (in.timeout > 24) return EINVAL;
    out.timeout = in.timeout;
  }
  if (mask & MRC_QP_RETRY_CNT) {
    if (in.retry.linear_cnt > 7 || in.retry.exp_cnt > 25) return EINVAL;
    out.retry = in.retry;
  }
  // The device checks whether such profiles exist.
  if (mask & MRC_QP_EV_PROFILE_ID) out.profile.ev_profile_id = in.profile.ev_profile_id;
  if (mask & MRC_QP_CC_PROFILE_ID) out.profile.cc_profile_id = in.profile.cc_profile_id;
  if (mask & MRC_QP_HINT) out.qp_hint = in.qp_hint;
  if (mask & MRC_QP_CAP) {
    if ((in.cap & ~kKnownCaps) != 0) return EINVAL;
    out.cap = in.cap;
  }
  if (mask & MRC_QP_VENDOR_CFG) std::memcpy(out.vendor_cfg, in.vendor_cfg, sizeof out.vendor_cfg);

  // The windows are set up when the QP starts. The same value again is no change, and some callers repeat it.
  if (from == QpState::kRtr || from == QpState::kRts) {
    if (out.mpr.mpr_dest != before.mpr.mpr_dest || out.wimm.max_wimm_dest != before.wimm.max_wimm_dest ||
        out.cap != before.cap || out.profile.ev_profile_id != before.profile.ev_profile_id ||
        out.profile.cc_profile_id != before.profile.cc_profile_id)
      return EINVAL;
  }
  if (from == QpState::kRts && (out.mpr.mpr != before.mpr.mpr || out.wimm.max_wimm != before.wimm.max_wimm))
    return EINVAL;
  return 0;
}

}  // namespace

std::optional<QpState> state_from_verbs(int state) {
  switch (state) {
    case IBV_QPS_RESET:
      return QpState::kReset;
    case IBV_QPS_INIT:
      return QpState::kInit;
    case IBV_QPS_RTR:
      return QpState::kRtr;
    case IBV_QPS_RTS:
      return QpState::kRts;
    case IBV_QPS_ERR:
      return QpState::kError;
    default:
      return std::nullopt;
  }
}

// [API-QP-3]
bool address_valid(const ibv_ah_attr& ah, const ModifyLimits& limits) {
  if (!ah.is_global) return false;  // a peer is identified by its GID only, as with RoCE
  if (ah.grh.sgid_index >= limits.gids || (limits.usable_gids >> ah.grh.sgid_index & 1) == 0) return false;
  if ((limits.reserved_dscps >> (ah.grh.traffic_class >> 2) & 1) != 0) return false;
  static constexpr uint8_t kZero[16] = {};
  return std::memcmp(ah.grh.dgid.raw, kZero, sizeof kZero) != 0;
}

uint64_t reserved_dscps(const device::Settings& settings) {
  return uint64_t{1} << settings.dscp_trimmed | uint64_t{1} << settings.dscp_trimmed_lasthop |
         uint64_t{1} << settings.dscp_control;
}

// [API-ERR-2]
bool masks_known(int verbs_mask, int mask) {
  return (verbs_mask & ~kKnownVerbsMask) == 0 && (mask & ~kKnownMrcMask) == 0;
}

QpSettings initial_settings(const core::QpAttr& defaults) {
  QpSettings s;
  s.verbs.path_mig_state = IBV_MIG_MIGRATED;
  s.mrc.mpr.mpr = defaults.mpr;
  s.mrc.mpr.mpr_dest = defaults.mpr_dest;
  s.mrc.wimm.max_wimm = defaults.max_wimm;
  s.mrc.wimm.max_wimm_dest = defaults.max_wimm_dest;
  s.mrc.timeout = defaults.timeout;
  s.mrc.retry.linear_cnt = defaults.retry_linear;
  s.mrc.retry.exp_cnt = defaults.retry_exp;
  if (defaults.dynamic_mpr) s.mrc.cap |= MRC_QP_CAP_DYNAMIC_MPR;
  if (!defaults.trim_nack) s.mrc.cap |= MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED;
  return s;
}

int check_modify(const QpSettings& now, QpState state, const ModifyLimits& limits, const ibv_qp_attr* verbs,
                 int verbs_mask, const mrc_qp_attr* attr, int mask, QpSettings* next, QpState* to) {
  if (!masks_known(verbs_mask, mask)) return EINVAL;
  if ((verbs_mask != 0 && verbs == nullptr) || (mask != 0 && attr == nullptr)) return EINVAL;
  if ((verbs_mask & IBV_QP_CUR_STATE) != 0 && state_from_verbs(raw(verbs->cur_qp_state)) != state) return EINVAL;
  const std::optional<QpState> wanted =
      (verbs_mask & IBV_QP_STATE) != 0 ? state_from_verbs(raw(verbs->qp_state)) : state;
  if (!wanted || !core::is_transition(state, *wanted)) return EINVAL;
  const QpState target = *wanted;

  QpSettings made = now;
  if (target != QpState::kReset && target != QpState::kError) {
    static constexpr ibv_qp_attr kNoVerbs{};
    static constexpr mrc_qp_attr kNoMrc{};
    if (int error = take_verbs(verbs != nullptr ? *verbs : kNoVerbs, verbs_mask, state, target, limits, &made))
      return error;
    if (int error = take_mrc(attr != nullptr ? *attr : kNoMrc, mask, state, limits, &made)) return error;
  }
  *next = made;
  *to = target;
  return 0;
}

void apply_settings(const QpSettings& settings, core::QpAttr* out) {
  const ibv_qp_attr& v = settings.verbs;
  const mrc_qp_attr& m = settings.mrc;
  out->dest_qpn = Qpn(v.dest_qp_num);
  if (settings.verbs_set & IBV_QP_PATH_MTU) out->path_mtu = mtu_bytes(v.path_mtu);
  out->sq_psn = Psn(v.sq_psn);
  out->rq_psn = Psn(v.rq_psn);
  out->access = v.qp_access_flags;
  out->pkey = kDefaultPkey;
  out->traffic_class = v.ah_attr.grh.traffic_class;
  out->mpr = m.mpr.mpr;
  out->mpr_dest = m.mpr.mpr_dest;
  out->dynamic_mpr = (m.cap & MRC_QP_CAP_DYNAMIC_MPR) != 0;
  out->trim_nack = (m.cap & MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED) == 0;
  out->max_wimm = m.wimm.max_wimm;
  out->max_wimm_dest = m.wimm.max_wimm_dest;
  out->timeout = m.timeout;
  out->retry_linear = m.retry.linear_cnt;
  out->retry_exp = m.retry.exp_cnt;
}

ibv_qp_state to_verbs(QpState state) {
  switch (state) {
    case QpState::kReset:
      return IBV_QPS_RESET;
    case QpState::kInit:
      return IBV_QPS_INIT;
    case QpState::kRtr:
      return IBV_QPS_RTR;
    case QpState::kRts:
      return IBV_QPS_RTS;
    case QpState::kError:
      return IBV_QPS_ERR;
  }
  return IBV_QPS_UNKNOWN;
}

uint32_t mtu_bytes(int mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 + 1 ? 128u << mtu : 0;
}

}  // namespace mrc::api
