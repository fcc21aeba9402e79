// PacketSocket: the one AF_PACKET socket for sending and receiving on all ports of a switch. Frames arrive in the order
// of their arrival over all ports, each with the kernel's time stamp; they leave by one system call for many ports.
// Bursts only.
//
// A port's frames are IPv6 frames addressed to its MAC address. The kernel has its copy of each and answers for the
// switch's own addresses; it forwards nothing, because forwarding is off in the switch's namespace.
#pragma once

#include <vector>

#include "fd.h"
#include "switch.h"

namespace mrc::softswitch {

struct SocketCounters {
  uint64_t overflow = 0;     // frames that arrived while the receive buffer was full
  uint64_t no_buffer = 0;    // while the pool was empty
  uint64_t send_errors = 0;  // frames that the kernel did not accept
};

class PacketSocket {
 public:
  // Ports are network interfaces of these names. Throws FabricError.
  explicit PacketSocket(const SwitchConfig& config);

  int fd() const { return fd_.get(); }
  int interface_of(size_t port) const { return interfaces_[port]; }
  // Hands what waits to the switch. Returns the time up to which everything has been seen: `now`, or earlier where
  // more is waiting than one call takes.
  Instant receive(Switch* to, FramePool* pool, Instant now);
  // Sends and frees the frames.
  void send(std::vector<Frame*>* frames, FramePool* pool);
  SocketCounters counters();

 private:
  int receive_batch(Switch* to, FramePool* pool, Instant now, int64_t realtime_offset, Instant* last);

  Fd fd_;
  std::vector<int> interfaces_;  // by port
  std::vector<Frame*> spare_;    // buffers that the last call did not fill
  SocketCounters counters_;
};

Instant monotonic_now();

}  // namespace mrc::softswitch
