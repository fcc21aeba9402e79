// Histograms of what requests take, by device and peer, from the reports of processes. Not thread-safe. [MRC-MON-9]
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ctl/delays.h"
#include "ctl/messages.h"
#include "invariant.h"
#include "shared_device.h"

namespace mrc::mrcd {

using PeerLatency = ctl::PeerDelays;
using LatencyByPeer = std::map<std::string, PeerLatency>;  // by the label of the peer
using LatencyByDevice = std::map<std::string, LatencyByPeer>;

// A process may report anything: at its end a sum stays, and does not begin again.
uint64_t sum_of(uint64_t a, uint64_t b);

// The address that names a peer: its first one, in one spelling of all that it may have; "unknown" without one.
std::string address_of(const ctl::PeerReport& report);

// LatencySeries: the sums over all processes, those that have ended included. Prometheus takes a counter that falls for
// one that was reset, and invents samples. So a series only grows, by what a report has more than the one before of the
// same peer of the same client: it keeps what it has when a peer or a process goes, or a report does not come.
//
// Of each device the first kMaxNamed peers have series of their own for as long as any client reports them; all others
// share kOther. A peer stays in the series in which a client first reported it. A series may go, for that of another
// peer or with its device, and may then begin again at zero.
class LatencySeries {
 public:
  static constexpr size_t kMaxNamed = 32;
  static constexpr const char* kOther = "other";

  void report(ClientId client, const std::string& device, const std::vector<ctl::PeerReport>& peers);
  // The last figures of some peers: the next report may use their numbers for others.
  void last(ClientId client, const std::string& device, const std::vector<ctl::PeerReport>& peers);
  void end(ClientId client);             // it has gone, or has another device now
  void drop(const std::string& device);  // one without clients

  LatencyByDevice by_peer() const;
  // All peers of a device together, under the label "all": for clients that may not see which processes communicate.
  LatencyByDevice all_peers() const;
  void check() const;

 private:
  struct Series {
    PeerLatency sum;
    size_t peers = 0;  // of all clients, that are reported now
  };
  struct Device {
    std::map<std::string, Series> series;
    PeerLatency all;
  };
  struct Reported {
    std::string address, label;
    PeerLatency last;
  };
  struct Client {
    std::string device;
    std::map<uint32_t, Reported> peers;  // by number
  };
  Client* client_on(ClientId id, const std::string& device);
  static void count(Device* device, Reported* reported, const ctl::PeerReport& peer);
  static std::string join(Device* device, const std::string& address);
  static void leave(Device* device, const std::string& label);

  std::map<std::string, Device> devices_;
  std::map<ClientId, Client> clients_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::mrcd
