// Attaching datagram queue pairs to multicast groups. [API-UD-5]
#include <cerrno>
#include <cstring>

#include "api/context.h"
#include "api/datagram_qp.h"
#include "api/errors.h"

using mrc::api::errno_value;

namespace {

// 0, or an errno value: of `change` with the group, which must be one.
template <typename Change>
int with_group(const mrc_soft_ud_qp* qp, const union ibv_gid* gid, const Change& change) {
  if (qp == nullptr || gid == nullptr) return errno_value(EINVAL);
  mrc::IpAddress group;
  std::memcpy(group.bytes.data(), gid->raw, group.bytes.size());
  if (!group.is_multicast()) return errno_value(EINVAL);
  return mrc::api::or_enomem<int>(ENOMEM, [&] {
    const int error = change(group);
    return error == 0 ? 0 : errno_value(error);
  });
}

}  // namespace

int mrc_soft_ud_qp::attach(const mrc::IpAddress& group) {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  return dev.attach_locked(engine_, group);
}

int mrc_soft_ud_qp::detach(const mrc::IpAddress& group) {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  return dev.detach_locked(engine_, group);
}

bool mrc_soft_ud_qp::attached() const {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  return !dev.endpoint().groups_of(engine_).empty();
}

extern "C" {

int mrc_soft_attach_mcast(mrc_soft_ud_qp* qp, const union ibv_gid* gid) {
  return with_group(qp, gid, [qp](const mrc::IpAddress& group) { return qp->attach(group); });
}

int mrc_soft_detach_mcast(mrc_soft_ud_qp* qp, const union ibv_gid* gid) {
  return with_group(qp, gid, [qp](const mrc::IpAddress& group) { return qp->detach(group); });
}

}  // extern "C"
