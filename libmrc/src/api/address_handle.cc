#include "api/address_handle.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include "api/errors.h"
#include "api/inherited.h"
#include "api/qp_attr.h"
#include "core/datagram.h"
#include "device/log.h"
#include "device/peers.h"
#include "device/qpn.h"

using mrc::api::AddressHandle;
using mrc::api::errno_value;
using mrc::api::null_with;

namespace mrc::api {

AddressHandle::AddressHandle(ibv_pd* pd, const ibv_ah_attr& attr)
    : pd_(hold_pd(pd)),
      soft_(SoftPd::of(pd)->soft),
      traffic_class_(attr.grh.traffic_class),
      hop_limit_(attr.grh.hop_limit) {
  ah_.context = pd->context;
  ah_.pd = pd;
  std::memcpy(dgid_.bytes.data(), attr.grh.dgid.raw, dgid_.bytes.size());
}

AddressHandle::~AddressHandle() {
  device::Device& device = soft_->device();
  const device::DeviceLock lock(device.mutex());
  for (const SlotPeer& p : peers_) device.release_peer_locked(p.peer);
}

Result<core::PeerId> AddressHandle::peer_of(Qpn qpn) {
  const uint8_t slot = is_group() ? 0 : device::slot_of(qpn);
  for (const SlotPeer& p : peers_)
    if (p.slot == slot) return core::PeerId(p.peer);
  peers_.reserve(peers_.size() + 1);  // what can fail comes first
  device::Device& device = soft_->device();
  Result<core::PeerId> found =
      is_group() ? device.resolve_group_locked(dgid_, hop_limit_) : device.resolve_peer_locked(dgid_, qpn);
  if (found) peers_.push_back({slot, *found});
  return found;
}

}  // namespace mrc::api

extern "C" {

ibv_ah* mrc_soft_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  const mrc::api::SoftPd* const domain = mrc::api::SoftPd::of(pd);
  if (domain == nullptr || attr == nullptr) return null_with(EINVAL);
  if (!mrc::api::address_valid(*attr, domain->soft->limits())) return null_with(EINVAL);
  if (mrc::api::inherited(*domain->soft)) return null_with(EPERM);
  return mrc::api::or_enomem<ibv_ah*>(nullptr, [&]() -> ibv_ah* {
    mrc::device::Device& device = domain->soft->device();
    mrc::IpAddress dgid;
    std::memcpy(dgid.bytes.data(), attr->grh.dgid.raw, dgid.bytes.size());
    if (dgid.is_multicast()) {
      auto made = std::make_unique<AddressHandle>(pd, *attr);
      const mrc::device::DeviceLock lock(device.mutex());
      const auto group = made->peer_of(mrc::core::kMulticastQpn);
      return group ? made.release()->verbs() : null_with(group.error().code);
    }
    const auto reached = mrc::device::resolve_peer(device.config(), device.slot(), dgid, mrc::Qpn(0));
    if (!reached) {
      mrc::device::log_once(mrc::device::LogLevel::kError, reached.error().text);  // programs make one for each message
      return null_with(reached.error().code);
    }
    return (new AddressHandle(pd, *attr))->verbs();
  });
}

int mrc_soft_destroy_ah(ibv_ah* ah) {
  if (ah == nullptr) return errno_value(EINVAL);
  if (!AddressHandle::of(ah)->inherited()) delete AddressHandle::of(ah);
  return 0;
}

}  // extern "C"
