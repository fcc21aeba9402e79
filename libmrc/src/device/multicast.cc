// Multicast groups of the device: the engine has the members, the datapath receives for the groups that have one.
// [MRC-UD-9..11]
#include <cerrno>

#include "device/device.h"
#include "device/log.h"
#include "device/peers.h"

namespace mrc::device {

namespace {

// Without a group's address: every text is kept.
Error logged(Error error) {
  log_once(LogLevel::kError, error.text);
  return error;
}

// The addresses of a group that the datapath receives for: no longer, unless they are kept.
class Joined {
 public:
  Joined(datapath::Datapath* datapath, const PerPlane<core::PlaneAddress>* group)
      : datapath_(datapath), group_(group) {}
  ~Joined() {
    if (joined_) datapath_->leave_group(*group_);
  }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;
  Status join() {
    Status done = datapath_->join_group(*group_);
    joined_ = static_cast<bool>(done);
    return done;
  }
  void keep() { joined_ = false; }

 private:
  datapath::Datapath* const datapath_;
  const PerPlane<core::PlaneAddress>* const group_;
  bool joined_ = false;
};

}  // namespace

Result<core::PeerId> Device::resolve_group_locked(const IpAddress& group, uint8_t hop_limit) {
  Result<PerPlane<core::PlaneAddress>> sources = engine_.datapath->group_sources();
  if (!sources) return logged(std::move(sources).error());
  Result<PerPlane<core::PlaneAddress>> addresses = resolve_group(config(), *sources, group);
  if (!addresses) return logged(std::move(addresses).error());
  core::PeerDescription description;
  description.planes = *std::move(addresses);
  description.sources = *std::move(sources);
  description.hop_limit = hop_limit;
  return engine_.endpoint->intern_peer(description);
}

// A child of fork shares its epoll set with the parent: what the child adds or takes there is the parent's loss.
int Device::attach_locked(core::DatagramQp* qp, const IpAddress& group) {
  if (inherited_) return EPERM;
  Result<PerPlane<core::PlaneAddress>> sources = engine_.datapath->group_sources();
  if (!sources) return logged(std::move(sources).error()).code;
  const Result<PerPlane<core::PlaneAddress>> addresses = resolve_group(config(), *sources, group);
  if (!addresses) return logged(addresses.error()).code;
  // Joined first: what fails later leaves again, whereas a member whose group is not received would not notice.
  Joined joined(engine_.datapath.get(), &*addresses);
  if (!engine_.endpoint->has_group(group))
    if (const Status done = joined.join(); !done)
      return logged(failed_call("cannot receive a multicast group", done.error().code)).code;
  if (engine_.endpoint->attach_datagram_qp(qp, group) == core::Attached::kNoRoom) return ENOMEM;
  joined.keep();
  return 0;
}

int Device::detach_locked(core::DatagramQp* qp, const IpAddress& group) {
  if (!engine_.endpoint->has_group(group)) return EINVAL;
  // What may throw comes first. The sources are open since the attachment.
  const Result<PerPlane<core::PlaneAddress>> sources = engine_.datapath->group_sources();
  if (!sources) return sources.error().code;
  const Result<PerPlane<core::PlaneAddress>> addresses = resolve_group(config(), *sources, group);
  if (!addresses) return addresses.error().code;
  if (!engine_.endpoint->detach_datagram_qp(qp, group)) return EINVAL;
  if (!inherited_ && !engine_.endpoint->has_group(group)) engine_.datapath->leave_group(*addresses);
  return 0;
}

}  // namespace mrc::device
