// SourceSockets: the sockets that datagrams are sent from, one per EV, each bound to its plane's address and to the
// source port that is the EV's low half; and the guards that keep other programs from these ports [MRC-SEC-12].
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/ip.h"
#include "base/planes.h"
#include "core/types.h"
#include "datapath/udp/descriptors.h"
#include "datapath/udp/socket_connection.h"
#include "datapath/udp/syscalls.h"
#include "datapath/udp/udp_datapath.h"
#include "fd.h"
#include "result.h"

namespace mrc::datapath {

class SourceSockets {
 public:
  struct Socket {
    Fd fd;  // empty: its plane is closed
    Fd guard;
    uint32_t number = 0;  // of the EV among those of its plane
    SocketConnection connection;
    // With SRv6: the last destination, and the address that leads there by this socket's path.
    IpAddress peer, peer_via;
  };

  // The ports of planes in `closed` are held, so that their EVs are known. Sockets of planes `without_checksum` send
  // no UDP checksum.
  Status open(const UdpConfig& config, const UdpSyscalls& sys, PlaneSet closed, PlaneSet without_checksum);
  // The sockets of a closed plane; with an error it has none.
  Status open_plane(PlaneId p, const HostPlane& plane, bool without_checksum);

  Socket& operator[](EvIndex ev) { return sockets_[ev]; }
  bool has(EvIndex ev) const { return sockets_.has(ev); }
  const PerEv<core::EvEntry>& evs() const { return evs_; }
  uint32_t granted() const { return granted_; }      // smallest send buffer obtained
  uint32_t unguarded() const { return unguarded_; }  // sockets from whose ports others may send too
  const DescriptorRoom& descriptors() const { return descriptors_; }

 private:
  Status prepare(int fd, const core::EvEntry& ev, const IpAddress& addr, bool without_checksum);

  const UdpSyscalls* sys_ = nullptr;
  PerEv<Socket> sockets_;
  PerEv<core::EvEntry> evs_;
  DescriptorRoom descriptors_;  // with room for guards each socket keeps its own
  bool structured_ev_ = false;
  uint32_t sndbuf_ = 0;
  uint32_t unguarded_ = 0;
  uint32_t granted_ = UINT32_MAX;
};

}  // namespace mrc::datapath
