// Sending half of the UDP driver: a socket per EV (4 and 64 of them move the same, 41 Gb/s on the machine where a
// single iovec per burst moves 48 and the thirty of headers and payload cost the difference). A burst of several
// segments is one sendmsg with UDP_SEGMENT, or one sendmmsg where the kernel or an interface cannot segment. A full
// socket blocks its plane until it is writable again. Of a burst that sendmmsg has taken in part the rest is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "datapath/blocked_planes.h"
#include "datapath/held_burst.h"
#include "datapath/udp/message_header.h"
#include "datapath/udp/send_errors.h"
#include "datapath/udp/source_sockets.h"
#include "datapath/udp/split_burst.h"
#include "datapath/udp/udp_datapath.h"

namespace mrc::datapath {

class UdpTransmitter {
 public:
  // `gso_planes`: planes that may segment. With SRv6 the sockets of the others send without a UDP checksum.
  // The ports of planes in `closed` are held, so that their EVs are known.
  Status open(const UdpConfig& config, const UdpSyscalls& sys, PlaneSet gso_planes, PlaneSet closed, int epoll_fd);
  // The sockets of a closed plane; with an error it has none.
  Status open_plane(PlaneId p, const HostPlane& plane);
  // Opens the sockets from which bursts to multicast groups leave; they are kept.
  Result<PerPlane<core::PlaneAddress>> open_group_sources(const PerPlane<HostPlane>& planes);
  // False: the plane has no room, the burst was not changed.
  [[nodiscard]] bool send(const core::TxBurst& burst, DatapathCounters* counters);
  PlaneSet planes_with_room(DatapathCounters* counters);
  void unblock(PlaneId plane) { blocked_.unblock(plane); }

  const PerEv<core::EvEntry>& evs() const { return sockets_.evs(); }
  const SourceSockets& sockets() const { return sockets_; }
  // GSO is given up plane by plane when an interface refuses it (no checksum offload).
  PlaneSet planes_without_gso() const { return no_gso_; }
  const std::string& first_error() const { return errors_.first(); }

  // See Datapath::take_too_long().
  std::optional<Datapath::TooLong> take_too_long() { return errors_.take_too_long(); }
  void check() const;

 private:
  struct Plane {
    uint32_t scope = 0;  // interface index, for link-local peers
    Fd group_fd;         // sends to multicast groups
    core::PlaneAddress group_source;
    // Rest of a burst of which sendmmsg took only a part; sent before anything else on the plane. One copy, rare.
    HeldBurst rest;
    IpAddress rest_to;
    int rest_fd = -1;
  };
  enum class Sent : uint8_t { kAll, kNoRoom, kUnsupported };

  // Where datagrams of the flow are addressed to, answers too [MRC-SR-10]. None: no address that a socket can send to.
  std::optional<IpAddress> find_destination(const wire::Flow& flow, PlaneId plane, SourceSockets::Socket* socket);
  // Makes header_ for the next messages. `socket` null: always explicit, whatever the socket is connected to.
  void prepare(const wire::Flow& flow, const IpAddress& to, uint32_t scope, uint32_t gso_segment,
               SourceSockets::Socket* socket);
  bool send_to_group(const core::TxBurst& burst, Plane* plane, DatapathCounters* counters);
  Sent send_one(int fd, const iovec* iov, uint32_t iov_count, uint32_t segments, uint32_t bytes,
                DatapathCounters* counters);
  // True: the burst is taken, whole or with its rest kept.
  bool send_split(const core::TxBurst& burst, const IpAddress& to, SourceSockets::Socket* socket,
                  DatapathCounters* counters);
  bool flush_rest(PlaneId plane, DatapathCounters* counters);

  const UdpSyscalls* sys_ = nullptr;
  SourceSockets sockets_;
  std::shared_ptr<const Srv6Plan> srv6_;
  PerPlane<Plane> planes_;
  BlockedPlanes blocked_;
  PlaneSet has_rest_;  // have the rest of a burst
  PlaneSet no_gso_;
  SendErrors errors_;
  MessageHeader header_;
  SplitBurst split_;
};

}  // namespace mrc::datapath
