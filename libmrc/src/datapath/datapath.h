// Datapath: carries bursts between an endpoint and the network. Drivers (udp, mem, raw, dpdk) and decorators
// (fault) implement it; the device drives it. No protocol decision is taken below this line: a driver does not inspect
// payloads.
//
// Threads: one caller at a time (the device serialises, as for the endpoint). Only the descriptors of wait_fds() may be
// waited on by another thread meanwhile. Nothing here blocks, and nothing allocates or logs per packet.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

#include "base/planes.h"
#include "base/time.h"
#include "core/burst.h"
#include "core/types.h"
#include "datapath/closed_planes.h"
#include "result.h"

namespace mrc::datapath {

// Every counter is declared once: name and sentence.
#define MRC_DATAPATH_COUNTERS(X)                                                                       \
  X(tx_bursts, "bursts taken by the driver")                                                           \
  X(tx_packets, "packets passed to the network")                                                       \
  X(tx_bytes, "UDP payload bytes passed to the network")                                               \
  X(tx_calls, "system calls for sending")                                                              \
  X(tx_no_room, "times a plane had no room for a burst")                                               \
  X(tx_errors, "packets that the kernel refused permanently (no route, not permitted, too long)")      \
  X(rx_bursts, "bursts received")                                                                      \
  X(rx_packets, "packets received")                                                                    \
  X(rx_bytes, "UDP payload bytes received")                                                            \
  X(rx_calls, "system calls for receiving")                                                            \
  X(rx_errors, "failed receive calls, an empty queue not counted")                                     \
  X(rx_overflow, "packets or merged bursts that the kernel dropped because a socket of ours was full") \
  X(tx_local, "packets of these passed to processes of this host through shared memory")               \
  X(rx_local, "packets of these received from processes of this host through shared memory")           \
  X(tx_local_full, "packets dropped because a process of this host does not read its packets")         \
  X(fault_dropped, "packets dropped by fault injection")                                               \
  X(fault_duplicated, "packets duplicated by fault injection")                                         \
  X(fault_reordered, "packets reordered by fault injection")                                           \
  X(fault_delayed, "packets delayed by fault injection")                                               \
  X(fault_corrupted, "packets corrupted by fault injection")                                           \
  X(fault_marked, "packets given an ECN CE mark by fault injection")                                   \
  X(fault_trimmed, "packets trimmed by fault injection")

struct DatapathCounters {
#define MRC_DATAPATH_COUNTER_FIELD(name, sentence) uint64_t name = 0;
  MRC_DATAPATH_COUNTERS(MRC_DATAPATH_COUNTER_FIELD)
#undef MRC_DATAPATH_COUNTER_FIELD

  DatapathCounters& operator+=(const DatapathCounters& other) {
#define MRC_DATAPATH_COUNTER_ADD(name, sentence) name += other.name;
    MRC_DATAPATH_COUNTERS(MRC_DATAPATH_COUNTER_ADD)
#undef MRC_DATAPATH_COUNTER_ADD
    return *this;
  }
  void count_received(const core::RxBurst& burst) {
    ++rx_bursts;
    rx_packets += burst.segments();
    rx_bytes += burst.bytes;
  }
};

class Datapath {
 public:
  virtual ~Datapath() = default;

  // Up to `max` received bursts; returns how many. Their buffers belong to the datapath and are valid until the next
  // rx_burst. Returning fewer than `max` does not mean that the queues are empty. Returning 0 means that no usable
  // packet was found for now: wait_fds() signals when to call again.
  virtual int rx_burst(Instant now, core::RxBurst* out, int max) = 0;

  // Sends bursts in order; returns how many were taken. Fewer than `n` means that the plane of bursts[returned] has no
  // room: that burst was not changed, offer it (or a newly polled one) again when planes_with_room() shows its plane.
  // The memory of a taken burst may be reused. Packets refused by the kernel are counted and treated as lost. A driver
  // may keep packets back until flush(), so that one system call passes many of them on.
  virtual int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) = 0;
  bool tx_one(Instant now, const core::TxBurst& burst) {
    const core::TxBurst* p = &burst;
    return tx_burst(now, &p, 1) == 1;
  }

  // Passes on the packets that tx_burst kept back. Required after the last tx_burst of a round; a tx_burst without
  // bursts does it as well.
  virtual void flush() {}

  // Where the next burst is best composed (TxBurst::staging), because it is sent from there: one copy less. Null: the
  // caller's own memory is as good. Valid until the next call of tx_burst.
  virtual uint8_t* staging() { return nullptr; }

  // The planes that take a burst now. Cheap while no plane is full.
  virtual PlaneSet planes_with_room() = 0;

  // Descriptors to wait on for reading (epoll or poll, level-triggered): readable while rx_burst would return something
  // or a plane that was full has room again. Returns how many were written; they stay the same for the datapath's life.
  // The udp driver has exactly one, an epoll descriptor over all its sockets.
  virtual int wait_fds(int* out, int max) const = 0;

  // Called before and after waiting on them: only in between must a sender wake this side. Invalidates received bursts.
  virtual void before_wait() {}
  virtual void after_wait() {}

  // The time at which the datapath itself requires a call of rx_burst or tx_burst (with n = 0), regardless of the
  // descriptors: delayed packets of fault injection. Instant::never() for the drivers.
  virtual Instant next_timeout() const { return Instant::never(); }

  // Limits for EndpointConfig::max_segments and max_burst_bytes: segments per burst that this driver sends at the cost
  // of about one. 1 where there is no segmentation offload worth using.
  virtual uint32_t max_segments() const = 0;
  virtual uint32_t max_burst_bytes() const = 0;
  // Bytes that the kernel keeps for each plane until rx_burst() takes them; 0: not known.
  virtual uint32_t receive_room() const { return 0; }

  // A packet that the network of this host refused as too long for the path since the last call. The engine then
  // searches the path's MTU.
  struct TooLong {
    PlaneId plane;
    IpAddress to;
  };
  virtual std::optional<TooLong> take_too_long() { return std::nullopt; }

  // Planes whose address or interface is missing: nothing may be sent on them, and nothing arrives. open_plane() tries
  // again, at this address; with an error the plane stays closed.
  virtual const ClosedPlanes& closed_planes() const {
    static const ClosedPlanes none;
    return none;
  }
  virtual Status open_plane(PlaneId /*plane*/, const IpAddress& /*addr*/) { return Error{EALREADY, "it is open"}; }

  // Multicast: how many groups can be received at once. 0: none, and bursts to groups must not be sent.
  virtual uint32_t max_groups() const { return 0; }
  // Per plane, the address and port from which bursts to groups leave; they do not change.
  virtual Result<PerPlane<core::PlaneAddress>> group_sources() { return no_multicast(); }
  // Receives what arrives at the addresses of a group, one per plane. Calls are counted: each needs a leave_group().
  virtual Status join_group(const PerPlane<core::PlaneAddress>& /*group*/) { return no_multicast(); }
  virtual void leave_group(const PerPlane<core::PlaneAddress>& /*group*/) {}

  // An id of RxBurst::pipe whose shared memory has ended since the last call, all bursts of it having been returned; 0:
  // no further one. To be called after rx_burst, before its bursts are handled.
  virtual uint32_t take_ended_pipe() { return 0; }

  virtual const DatapathCounters& counters() = 0;

  // A few lines for mrc-info and logs: driver, planes, offloads, buffer sizes obtained, limits to raise.
  virtual std::string describe() const = 0;

 private:
  static Error no_multicast() { return Error{EOPNOTSUPP, "this datapath carries no multicast"}; }
};

}  // namespace mrc::datapath
