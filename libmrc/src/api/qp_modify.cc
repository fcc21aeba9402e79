// Attributes and states of a QP. The rules are in qp_attr.cc; here they are applied to the device: the peer is found
// from its GID and QPN, the engine makes the transition, and queries return the values set.
#include <cerrno>
#include <cstring>
#include <string>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"
#include "api/faults.h"
#include "api/hint.h"
#include "api/inherited.h"
#include "api/qp.h"

using mrc::api::errno_value;
using mrc::core::QpState;

int mrc_qp::modify(const ibv_qp_attr* verbs, int verbs_mask, const mrc_qp_attr* attr, int mask) {
  if ((mask & MRC_QP_HINT) != 0 && attr != nullptr && attr->qp_hint != nullptr && attr->qp_hint->context != context_)
    return EINVAL;
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  const QpState from = dev.endpoint().qp_state(engine_);
  mrc::api::QpSettings next;
  QpState to;
  if (const int error =
          check_modify(settings_, from, context_->soft().limits(), verbs, verbs_mask, attr, mask, &next, &to))
    return error;

  // [MRC-CTL-4]
  mrc::device::DeviceProfiles& profiles = dev.profiles();
  mrc::device::DeviceProfiles::Hold hold = profiles_;
  const bool takes_profiles = to == QpState::kInit || to == QpState::kRtr;
  if (takes_profiles)
    if (const int error = profiles.hold(next.mrc.profile.ev_profile_id, next.mrc.profile.cc_profile_id, &hold))
      return error;

  mrc::core::QpAttr engine_attr = dev.default_qp_attr();
  apply_settings(next, &engine_attr);
  engine_attr.evs = hold.choice;
  engine_attr.congestion = profiles.congestion(hold, dev.congestion());
  mrc::core::PeerId peer = peer_;
  if (to == QpState::kRtr) {
    mrc::IpAddress dgid;
    std::memcpy(dgid.bytes.data(), next.verbs.ah_attr.grh.dgid.raw, dgid.bytes.size());
    const mrc::Result<mrc::core::PeerId> resolved = dev.resolve_peer_locked(dgid, mrc::Qpn(next.verbs.dest_qp_num));
    if (!resolved) {
      profiles.release(hold);
      return resolved.error().code;
    }
    peer = *resolved;
  }
  engine_attr.peer = peer;
  if (!dev.endpoint().modify_qp(dev.now(), engine_, to, engine_attr)) {
    if (peer != peer_) dev.release_peer_locked(peer);
    if (takes_profiles) profiles.release(hold);
    return EINVAL;
  }
  if (takes_profiles) {
    profiles.release(profiles_);
    profiles_ = hold;
  }
  if (peer_ != peer && peer_ != mrc::core::kNoPeer) dev.release_peer_locked(peer_);
  peer_ = peer;

  mrc_qp_hint* const hint = next.mrc.qp_hint;
  next.mrc.qp_hint = settings_.mrc.qp_hint;  // use_hint counts both
  settings_ = next;
  if (hint != settings_.mrc.qp_hint) use_hint(hint);
  if (to == QpState::kReset) {
    if (peer_ != mrc::core::kNoPeer) dev.release_peer_locked(peer_);
    peer_ = mrc::core::kNoPeer;
    use_hint(nullptr);
    profiles.release(profiles_);
    profiles_ = {};
    settings_ = mrc::api::initial_settings(dev.default_qp_attr());
    purge_completions();
    slots_.clear();
    set_mailbox_answered(0);
  }
  dev.transmit_locked();
  return 0;
}

// [API-QP-6]
void mrc_qp::query(ibv_qp_attr* verbs, mrc_qp_attr* attr, int mrc_mask, mrc_qp_init_attr* init) {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  if (verbs != nullptr) {
    // Verbs providers fill all members regardless of the mask, and programs rely on it.
    *verbs = settings_.verbs;
    verbs->qp_state = verbs->cur_qp_state = mrc::api::to_verbs(dev.endpoint().qp_state(engine_));
    verbs->cap = init_.cap;
    if (verbs->port_num == 0) verbs->port_num = 1;
  }
  if (attr != nullptr) {
    const mrc_qp_attr& now = settings_.mrc;
    if (mrc_mask & MRC_QP_MAX_WIMM) attr->wimm.max_wimm = now.wimm.max_wimm;
    if (mrc_mask & MRC_QP_MAX_WIMM_DEST) attr->wimm.max_wimm_dest = now.wimm.max_wimm_dest;
    if (mrc_mask & MRC_QP_MPR) attr->mpr.mpr = now.mpr.mpr;
    if (mrc_mask & MRC_QP_MPR_DEST) attr->mpr.mpr_dest = now.mpr.mpr_dest;
    if (mrc_mask & MRC_QP_TIMEOUT) attr->timeout = now.timeout;
    if (mrc_mask & MRC_QP_RETRY_CNT) attr->retry = now.retry;
    if (mrc_mask & MRC_QP_EV_PROFILE_ID) attr->profile.ev_profile_id = now.profile.ev_profile_id;
    if (mrc_mask & MRC_QP_CC_PROFILE_ID) attr->profile.cc_profile_id = now.profile.cc_profile_id;
    if (mrc_mask & MRC_QP_HINT) attr->qp_hint = now.qp_hint;
    if (mrc_mask & MRC_QP_CAP) attr->cap = now.cap;
    if (mrc_mask & MRC_QP_VENDOR_CFG) std::memcpy(attr->vendor_cfg, now.vendor_cfg, sizeof attr->vendor_cfg);
  }
  if (init != nullptr) *init = init_;
}

extern "C" {

int mrc_modify_qp(mrc_qp* qp, ibv_qp_attr* vattr, int vattr_mask, mrc_qp_attr* mrc_attr, int mrc_attr_mask) {
  if (qp == nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(qp->context())) return errno_value(EPERM);
  return mrc::api::or_enomem<int>(ENOMEM, [&] {
    mrc::api::catch_faults();
    const int error = qp->modify(vattr, vattr_mask, mrc_attr, mrc_attr_mask);
    return error == 0 ? 0 : errno_value(error);
  });
}

int mrc_query_qp(mrc_qp* qp, ibv_qp_attr* vattr, int vattr_mask, mrc_qp_attr* mrc_attr, int mrc_attr_mask,
                 mrc_qp_init_attr* init_attr) {
  if (qp == nullptr || !mrc::api::masks_known(vattr_mask, mrc_attr_mask)) return errno_value(EINVAL);
  if ((vattr_mask != 0 && vattr == nullptr) || (mrc_attr_mask != 0 && mrc_attr == nullptr)) return errno_value(EINVAL);
  qp->query(vattr, mrc_attr, mrc_attr_mask, init_attr);
  return 0;
}

}  // extern "C"
