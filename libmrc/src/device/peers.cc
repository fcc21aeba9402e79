#include "device/peers.h"

#include <algorithm>
#include <cerrno>

#include "core/multicast_groups.h"
#include "device/host_identity.h"
#include "device/qpn.h"

namespace mrc::device {

namespace {

constexpr uint8_t kLinkLocalScope = 2;  // of an IPv6 group; an address of it needs an interface to be bound

constexpr const char* kHowToWrite =
    "write /etc/mrc/mrc.yaml, or a file that MRC_CONFIG names, on each host (mrc-info --suggest prints one), or set "
    "MRC_INTERFACES=auto";

bool is_on_loopback(const DeviceConfig& config) {
  return std::any_of(config.planes.begin(), config.planes.end(),
                     [](const PlaneConfig& plane) { return is_loopback_gid(plane.addr); });
}

const PeerConfig* listed_peer(const DeviceConfig& config, const IpAddress& dgid) {
  for (const PeerConfig& peer : config.peers)
    if (peer.gid == dgid || std::find(peer.planes.begin(), peer.planes.end(), dgid) != peer.planes.end()) return &peer;
  return nullptr;
}

}  // namespace

Result<core::PeerDescription> resolve_peer(const DeviceConfig& config, uint8_t slot, const IpAddress& dgid,
                                           Qpn dest_qpn) {
  if (dgid.is_zero()) return Error{ENETUNREACH, "the destination GID is empty"};
  if (dgid.is_multicast())
    return Error{ENETUNREACH, "GID " + dgid.to_string() + " is that of a multicast group, to which only datagrams go"};
  const PeerConfig* listed = listed_peer(config, dgid);
  const bool own = listed == nullptr && config.is_own_gid(dgid);
  if (listed == nullptr && !own && is_loopback_gid(dgid) && !is_on_loopback(config))
    return Error{ENETUNREACH, "GID " + dgid.to_string() +
                                  " is on the loopback of a process that nothing configured: " + kHowToWrite};
  const bool nic = listed != nullptr ? listed->nic : !own && config.peers_are_nics;
  const IpAddress& gid = listed != nullptr ? listed->gid : dgid;
  const bool configured = listed != nullptr && !listed->planes.empty();
  const bool learn =
      !configured && !own && config.peer_template.empty() && config.planes.size() > 1 && config.learn_peers;
  core::PeerDescription peer;
  peer.planes.assign(config.planes.size(), core::PlaneAddress());
  peer.nic = nic;
  peer.learn = learn && !nic;  // a NIC would not answer: it is reached over plane 1
  peer.slot = peer.learn ? slot_of(dest_qpn) : uint8_t{0};
  for (uint32_t p = 0; p < config.planes.size(); ++p) {
    const PlaneConfig& plane = config.planes[p];
    core::PlaneAddress& to = peer.planes[p];
    if (configured) {
      if (p < listed->planes.size()) to.addr = listed->planes[p];
    } else if (own) {
      to.addr = plane.addr;
    } else if (!config.peer_template.empty()) {
      to.addr = config.peer_template.apply(gid, p);
    } else if (config.planes.size() == 1) {
      to.addr = gid;
    } else if (learn) {
      if (p == 0) to.addr = gid;
    } else if (config.built_in) {
      return Error{ENETUNREACH,
                   "no way to GID " + dgid.to_string() + ", which is not one of this host: device '" + config.name +
                       "' is on loopback, because no configuration gives it planes. To reach other hosts " +
                       kHowToWrite};
    } else {
      return Error{ENETUNREACH, "no way to GID " + dgid.to_string() + ": it is not a GID of device '" + config.name +
                                    "', and the configuration has neither peers.template nor an entry for it in "
                                    "peers.list, and peers.learn is false"};
    }
    if (to.addr.is_zero()) continue;
    if (!plane.addr.is_zero() && to.addr.is_v4() != plane.addr.is_v4())
      return Error{ENETUNREACH, "GID " + dgid.to_string() + " leads to " + to.addr.to_string() + " on plane " +
                                    std::to_string(p + 1) + ", whose own address " + plane.addr.to_string() +
                                    " is of the other IP version"};
    const uint8_t peer_slot = slot_of(dest_qpn);
    to.port = nic              ? static_cast<uint16_t>(config.settings.port)
              : peer_slot == 0 ? plane.port
                               : static_cast<uint16_t>(plane.port_base + peer_slot);
  }
  if (nic && slot != 0)
    return Error{ENETUNREACH, "GID " + dgid.to_string() + " is a NIC, which sends to port " +
                                  std::to_string(config.settings.port) +
                                  " only, and another process of this host has it"};
  return peer;
}

Result<PerPlane<core::PlaneAddress>> resolve_group(const DeviceConfig& config,
                                                   const PerPlane<core::PlaneAddress>& sources,
                                                   const IpAddress& group) {
  PerPlane<core::PlaneAddress> addresses(sources.size());
  bool any = false;
  for (const PlaneId p : sources.ids()) {
    const IpAddress on_plane = core::group_address(group, sources[p].addr.is_v4());
    if (!on_plane.is_v4() && (on_plane.bytes[1] & 0xF) <= kLinkLocalScope) continue;
    addresses[p] = {on_plane, static_cast<uint16_t>(config.settings.port)};
    any = true;
  }
  if (any) return addresses;
  return Error{EADDRNOTAVAIL, "multicast groups of one link or interface are not carried on planes of IPv6"};
}

}  // namespace mrc::device
