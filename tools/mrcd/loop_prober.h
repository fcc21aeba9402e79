// LoopProber: probes that return without a responder. A datagram whose destination lists switches and then this host
// goes there and back without an answer: over the own T0 alone, or over T0 and a T1. One UDP socket per plane, zero
// checksums, because the destination changes on the way. Round trips are from before the system call that sends to the
// kernel's time stamp of the answer: neither the other probes of a round nor a busy mrcd count. [MRC-MON-4,
// spec/srv6.md]
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/time.h"
#include "device/config.h"
#include "fd.h"
#include "result.h"

namespace mrc::mrcd {

// One loop of this host.
struct LoopPath {
  uint32_t plane = 1;
  uint16_t t0 = 0;  // uSIDs
  uint16_t t1 = 0;  // 0: T0 and back
  IpAddress destination;
};

// From srv6_loop: each list of switches there, and the T0 alone by which it returns. An error without it.
Result<std::vector<LoopPath>> loop_paths(const device::DeviceConfig& config);
std::string usid_text(uint16_t usid);

class LoopProber {
 public:
  struct Outcome {
    size_t path = 0;  // index into paths()
    bool answered = false;
    Duration rtt;  // of an answered one
  };

  Status open(const device::DeviceConfig& config, std::vector<LoopPath> paths);
  const std::vector<LoopPath>& paths() const { return paths_; }
  const std::vector<Fd>& sockets() const { return sockets_; }  // readable when answers have arrived

  void send(size_t path);
  // Reads arrived probes, and counts overdue ones as lost; results of one path in the order of sending.
  void collect(const std::function<void(const Outcome&)>& report);
  // Outstanding probes.
  size_t open_probes() const;

  static constexpr Duration kProbeTimeout = Duration::milliseconds(250);

 private:
  struct Sent {
    uint32_t number = 0;
    Instant at;
    bool answered = false;
    Duration rtt;
  };
  struct PathState {
    uint32_t next = 1;
    std::deque<Sent> sent;  // in order; the front is reported first
  };
  void receive(int socket);

  std::vector<LoopPath> paths_;
  std::vector<PathState> states_;
  std::vector<Fd> sockets_;
  std::vector<uint16_t> ports_;
  uint64_t nonce_ = 0;
};

}  // namespace mrc::mrcd
