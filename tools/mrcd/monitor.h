// Monitor: monitors the fabric from this host. Probes its loops at a steady rate, judges them, names the faulty part
// from its own observations and those of other hosts' monitors, and keeps the denies of its device accordingly. Judging
// and naming are in judge.h, the resulting denies in policy.h; this adds sockets and time. [MRC-MON-4..7]
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/config.h"
#include "fd.h"
#include "judge.h"
#include "loop.h"
#include "loop_prober.h"
#include "monitor_status.h"
#include "policy.h"
#include "service.h"
#include "settings.h"

namespace mrc::mrcd {

class Monitor {
 public:
  Monitor(Loop* loop, Service* service, const device::DeviceConfig& config, const Settings& settings);
  ~Monitor();
  // An error when there is nothing to probe.
  Status start();
  // Its observations, for mrcctl, the web page and the metrics.
  MonitorStatus status() const;

 private:
  struct Path {
    PathJudge judge;
    Instant next;
    uint64_t sent = 0, lost = 0;
    double rtt_us = 0;  // smoothed
  };
  struct Peer {  // an address accepted for an entry of the setting peers
    IpAddress at;
    size_t entry;
  };
  struct PeerReport {  // of another host
    Instant at;
    std::string host;
    std::vector<Observation> observations;
  };
  void probe(Instant now);
  void collect(Instant now);
  void conclude(Instant now);
  std::vector<Observation> observations() const;
  Status open_peers();
  void send_to_peers();
  void read_peers(Instant now);
  void take_report(Instant now, size_t entry, const Observed& report);
  std::vector<OwnPlane> own_planes(const SharedDevice& device) const;

  Loop& loop_;
  Service& service_;
  const device::DeviceConfig config_;
  const Settings settings_;
  const std::string host_;
  LoopProber prober_;
  std::vector<Path> paths_;
  std::vector<OwnPlane> own_;
  std::vector<Finding> findings_;
  Fd peer_socket_;
  std::vector<Peer> peers_;
  bool too_long_ = false;  // maximum in one datagram; logged once
  std::map<size_t, PeerReport>
      reports_;  // by entry of the setting peers: one host each, so that no peer reports for several
};

}  // namespace mrc::mrcd
