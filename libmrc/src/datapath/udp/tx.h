// Sending half of the UDP driver: a socket per EV (4 and 64 of them move the same, 41 Gb/s on the machine where a
// single iovec per burst moves 48 and the thirty of headers and payload cost the difference). A burst of several
// segments is one sendmsg with UDP_SEGMENT, or one sendmmsg where the kernel or an interface cannot segment. A full
// socket blocks its plane until it is writable again. tx_split.cc has the second way.
//
// A socket whose last bursts all went to one address is connected to it, which saves the kernel a route lookup per
// call (about 0.5 us with IPv6); the traffic class is then a socket option, set when it changes, because ancillary data
// of the IP level makes the kernel look the route up again. Bursts to other addresses are still sent through the same
// socket with explicit address and class, and the socket is reconnected when they continue.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "datapath/held_burst.h"
#include "datapath/udp/descriptors.h"
#include "datapath/udp/socket.h"
#include "datapath/udp/udp_datapath.h"

namespace mrc::datapath {

class UdpTransmitter {
 public:
  static constexpr uint64_t kEpollTag = 1ull << 32;  // epoll data of plane p's blocked socket: kEpollTag + p

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
  void unblock(PlaneId plane) { blocked_.erase(plane); }

  const PerEv<core::EvEntry>& evs() const { return evs_; }
  uint32_t granted() const { return granted_; }
  uint32_t unguarded() const { return unguarded_; }  // sockets from whose ports others may send too [MRC-SEC-12]
  const DescriptorRoom& descriptors() const { return descriptors_; }
  // GSO is given up plane by plane when an interface refuses it (no checksum offload).
  PlaneSet planes_without_gso() const { return no_gso_; }
  const std::string& first_error() const { return first_error_; }

  // See Datapath::take_too_long().
  std::optional<Datapath::TooLong> take_too_long() { return std::exchange(too_long_, std::nullopt); }

 private:
  struct Plane {
    int blocked_fd = -1;
    std::vector<int> armed;  // sockets known to epoll
    uint32_t scope = 0;      // interface index, for link-local peers
    Fd group_fd;             // sends to multicast groups
    core::PlaneAddress group_source;
    // Rest of a burst of which sendmmsg took only a part; sent before anything else on the plane. One copy, rare.
    HeldBurst rest;
    IpAddress rest_to;
    int rest_fd = -1;
  };
  struct Socket {
    Fd fd;
    Fd guard;
    IpAddress peer;       // of the last burst
    IpAddress peer_via;   // the address that leads there by this socket's path
    uint32_t number = 0;  // of the EV among those of its plane
    uint16_t peer_port = 0;
    uint16_t streak = 0;     // bursts in a row to that address
    int traffic_class = -1;  // of the connected socket
    IpAddress connected_to;  // zero: not connected
    uint16_t connected_port = 0;
  };
  static constexpr uint16_t kConnectAfter = 8;
  enum class Sent : uint8_t { kAll, kNoRoom, kUnsupported };

  Status prepare_socket(int fd, const core::EvEntry& ev, const IpAddress& addr);
  // Where datagrams of the flow are addressed to, answers too [MRC-SR-10]. None: no address that a socket can send to.
  std::optional<IpAddress> find_way(const wire::Flow& flow, PlaneId plane, Socket* socket);
  // Address and ancillary data of the next messages. `socket` null: always explicit, whatever the socket is connected
  // to.
  void prepare(const wire::Flow& flow, const IpAddress& to, uint32_t scope, uint32_t gso_segment, Socket* socket);
  void add_control(int level, int type, const void* value, size_t size);
  bool send_to_group(const core::TxBurst& burst, Plane* plane, DatapathCounters* counters);
  bool use_connection(const wire::Flow& flow, Socket* socket);
  Sent send_one(int fd, const iovec* iov, uint32_t iov_count, uint32_t segments, uint32_t bytes,
                DatapathCounters* counters);
  // Sends [*first, segments) of msgs_; counts. kNoRoom with *first at the first unsent segment.
  Sent send_many(int fd, uint32_t* first, uint32_t segments, DatapathCounters* counters);
  bool send_split(Plane* plane, Socket* socket, const core::TxBurst& burst, const IpAddress& to,
                  DatapathCounters* counters);
  uint32_t split(const iovec* iov, uint32_t iov_count, uint32_t segment_size, uint32_t bytes);
  bool flush_rest(PlaneId plane, DatapathCounters* counters);
  void block(PlaneId plane, int fd);
  void note_error(int error);
  void note_refusal(int error);  // refused permanently by the kernel, for going_by_ and going_to_

  const UdpSyscalls* sys_ = nullptr;
  int epoll_fd_ = -1;
  PerEv<Socket> sockets_;
  PerEv<core::EvEntry> evs_;
  std::shared_ptr<const Srv6Plan> srv6_;
  PerPlane<Plane> planes_;
  PlaneSet blocked_;
  PlaneSet resting_;  // have the rest of a burst
  PlaneSet no_gso_;
  DescriptorRoom descriptors_;  // with room for guards each socket keeps its own
  bool structured_ev_ = false;
  uint32_t sndbuf_ = 0;
  uint32_t unguarded_ = 0;
  uint32_t granted_ = UINT32_MAX;
  std::string first_error_;
  PlaneId going_by_;
  IpAddress going_to_;
  std::optional<Datapath::TooLong> too_long_;
  SockAddr to_;
  socklen_t to_length_ = 0;
  struct alignas(8) Control {
    std::array<char, 64> bytes;
  } control_;
  size_t control_length_ = 0;
  std::array<mmsghdr, core::kMaxSegments> msgs_;
  std::array<uint32_t, core::kMaxSegments> sizes_;
  std::array<iovec, core::kMaxIov + core::kMaxSegments> iovs_;
};

}  // namespace mrc::datapath
