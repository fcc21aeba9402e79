// The path to processes of this host. A decorator around a driver: bursts towards an address at which another process
// of this user, in this network namespace, receives pass through a pipe in shared memory; all others, and the first few
// until the pipe exists, take the driver. The kernel would have looped the same packets back over its lo interface.
//
// It carries the same packets: the engine sees no difference, and faults are injected above it. When a peer
// ends, its pipe ends and packets take the driver again [MRC-LOCAL-1..6].
#pragma once

#include <memory>
#include <string>

#include "datapath/host_datapath.h"

namespace mrc::datapath {

class LocalDatapath : public HostDatapath {
 public:
  // `config` is that of `inner`. If pipes are unavailable, a note gives the reason and packets take `inner`.
  static std::unique_ptr<LocalDatapath> make(std::unique_ptr<HostDatapath> inner, const HostConfig& config);

  // Requests a pipe from the receiver there, as the first burst would. It is ready when both sides have received (have
  // called rx_burst or before_wait) in turn.
  virtual void request_pipe(Instant now, const IpAddress& addr, uint16_t port) = 0;
  virtual size_t pipes_out() const = 0;  // ready or requested
  virtual size_t pipes_in() const = 0;
};

}  // namespace mrc::datapath
