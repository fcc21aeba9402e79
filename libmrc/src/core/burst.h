// The batch, not the packet, is the unit of the datapath. A TxBurst is up to kMaxSegments packets of one flow and one
// EV, all of one size except a shorter last one, so that a driver can pass it to the kernel as one GSO send. An RxBurst
// is as delivered by GRO: the same shape, in one contiguous buffer. A datapath without GSO uses bursts of one segment.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/planes.h"
#include "base/time.h"
#include "wire/flow.h"

namespace mrc::core {

inline constexpr uint32_t kMaxSegments = 64;
inline constexpr uint32_t kMaxBurstBytes = 65000;  // UDP payload of one GSO send, below 65,535 with every header
inline constexpr uint32_t kMaxIov = 3 * kMaxSegments + 16;
inline constexpr uint32_t kHeaderRoom = 64;  // per segment: headers, pad and ICRC; the largest is 12+4+4+16+4

// Filled by Endpoint::poll_tx. The iovecs point into `staging`, or without it into user memory and into this object:
// send it before the next poll_tx on the same object and, without staging, before any other call into the endpoint that
// could complete the work requests. Devices always have staging (device/progress.cc); ns-3 and tests of the engine have
// none.
struct TxBurst {
  wire::Flow flow;
  PlaneId plane;     // local plane to leave by, 0-based
  EvIndex ev_index;  // drivers that keep a socket per EV index by it
  uint32_t segments = 0;
  uint32_t segment_size = 0;  // bytes of UDP payload of every segment but the last
  uint32_t bytes = 0;         // bytes of UDP payload of the whole burst
  uint32_t iov_count = 0;
  uint8_t hop_limit = 0;  // of a burst to a multicast group; meaningless in others
  // Room for kMaxBurstBytes and a header, given by a driver that sends a burst in one piece faster than in many: the
  // payload is then copied there while its ICRC is computed, and iov has one entry. Without ICRC that holds only with
  // always_staged. Null: payload by reference.
  uint8_t* staging = nullptr;
  bool always_staged = false;  // the payload is copied without ICRC, too
  std::array<iovec, kMaxIov> iov;
  std::array<uint8_t, kMaxSegments * kHeaderRoom> headers;
};

struct RxBurst {
  wire::Flow flow;
  PlaneId plane;  // local plane it arrived on, 0-based
  const uint8_t* data = nullptr;
  uint32_t bytes = 0;
  uint32_t segment_size = 0;  // every segment but the last; equal to bytes when there is one
  uint32_t pipe = 0;          // shared memory of the sending process; 0: from the network [MRC-LOCAL-8]
  bool stream = false;        // payload is placed by stores that bypass the caches (base/store_choice.h)
  uint32_t segments() const { return (bytes + segment_size - 1) / segment_size; }
};

}  // namespace mrc::core
