// Plane addresses and ports of the peer of (dgid, QPN). A pure function of the configuration; the result shows if the
// peer has to be queried for its planes.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "core/types.h"
#include "device/config.h"
#include "result.h"

namespace mrc::device {

// The rules, first match: a peer that the file lists; a GID of this device itself (another process of this host, or
// this one); the template; with a single plane, the GID as the address; with several and peers.learn, the GID as the
// address on plane 1, the others to be queried [MRC-EXT-1]. ENETUNREACH when none matches. `slot` is that of this
// process: NICs only reach slot 0.
Result<core::PeerDescription> resolve_peer(const DeviceConfig& config, uint8_t slot, const IpAddress& dgid,
                                           Qpn dest_qpn);

// Address and port of a multicast group per plane, for sending from `sources` and for receiving; zero on planes that do
// not carry it. EADDRNOTAVAIL: none does. [MRC-UD-9]
Result<PerPlane<core::PlaneAddress>> resolve_group(const DeviceConfig& config,
                                                   const PerPlane<core::PlaneAddress>& sources, const IpAddress& group);

}  // namespace mrc::device
