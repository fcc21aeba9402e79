// SimNet: an in-memory network of several planes in virtual time. Every packet that is sent arrives at a computed
// time, changed or dropped by the configured faults; all random numbers come from one seed, so a run can be repeated
// exactly. The connection sees no difference from sockets: bursts in, bursts out [spec/architecture.md, decision 1].
//
// Per plane and direction there is one link with a rate, a latency, a queue in bytes and switch behaviour (tail drop,
// ECN mark, trimming). Single thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "core/burst.h"

namespace mrc::simnet {

struct LinkConfig {
  Duration latency = Duration::microseconds(5);
  Duration jitter;  // added latency, uniform
  double rate_bps = 25e9;
  uint32_t queue_bytes = 1 << 20;  // tail drop (or trim) above
  uint32_t ecn_bytes = 0;          // CE mark above; 0: never
  bool trim = false;               // cut instead of drop
  uint8_t trimmed_dscp = 12;
  double loss = 0;
  double burst_loss = 0;  // chance that this packet and the next `burst_length` - 1 are lost
  uint32_t burst_length = 8;
  double duplicate = 0;
  double reorder = 0;  // chance of `reorder_delay` more
  Duration reorder_delay = Duration::microseconds(50);
  double corrupt = 0;  // one byte changed
};

// Silence on a plane (or all, -1) from one node (or all, -1), in [from, to).
struct Outage {
  int plane = -1;
  int node = -1;
  Instant from;
  Instant to;
};

// A node does not run in [from, to), as a host that is busy with other work. What arrives meanwhile, it reads
// afterwards plane by plane, each for `per_plane`: until a plane's turn ends nothing of it is delivered.
struct Pause {
  int node = 0;
  Instant from;
  Instant to;
  Duration per_plane;
};

struct Delivery {
  int node = 0;
  core::RxBurst burst;  // points into `bytes`
  std::vector<uint8_t> bytes;
};

struct SimNetCounters {
  uint64_t sent = 0, delivered = 0, lost = 0, queue_drops = 0, duplicated = 0, reordered = 0, corrupted = 0, marked = 0,
           trimmed = 0, unroutable = 0;
};

class SimNet {
 public:
  SimNet(uint64_t seed, int planes) : rng_(seed), links_(static_cast<size_t>(planes)) {}

  LinkConfig& link(int plane) { return links_[static_cast<size_t>(plane)]; }
  int planes() const { return static_cast<int>(links_.size()); }
  void attach(int node, int plane, const IpAddress& address) { hosts_[address] = {node, plane}; }
  void add_outage(const Outage& o) { outages_.push_back(o); }
  // For packets that are sent from now on; pauses of a node are added in their order.
  void add_pause(const Pause& p) { pauses_.push_back(p); }
  // Loss on every packet that carries this source port, whatever its plane: one bad path.
  void set_ev_loss(uint16_t source_port, double loss) { ev_loss_[source_port] = loss; }
  // Called for every packet that is sent, before any fault is drawn; true: it is dropped. For tests that lose one kind
  // of packet. clear_faults() removes it.
  using Filter = std::function<bool(int node, int plane, const wire::Flow& flow, const std::vector<uint8_t>& bytes)>;
  void set_filter(Filter filter) { filter_ = std::move(filter); }
  // Packets of one size and flow that arrive back to back are delivered as one burst, as GRO does.
  void set_coalescing(bool on) { coalesce_ = on; }
  // Faults off, latencies and rates kept; packets in flight still arrive.
  void clear_faults();

  void send(Instant now, int node, const core::TxBurst& burst);
  // Injects one packet, as if a node had sent it: tests of hostile senders.
  void inject(Instant at, int to_node, int plane, const wire::Flow& flow, const std::vector<uint8_t>& bytes);
  Instant next_delivery() const {
    return queue_.empty() ? Instant::never() : Instant::from_ns(queue_.begin()->first.at);
  }
  // The next burst that is due, if there is one.
  std::optional<Delivery> take(Instant now);
  const SimNetCounters& counters() const { return counters_; }
  void check() const;

 private:
  struct Host {
    int node, plane;
  };
  struct Packet {
    int node, plane;
    wire::Flow flow;
    std::vector<uint8_t> bytes;
  };
  struct Key {
    int64_t at;
    uint64_t order;
    bool operator<(const Key& o) const { return at != o.at ? at < o.at : order < o.order; }
  };

  void send_packet(Instant now, int node, const core::TxBurst& burst, std::vector<uint8_t> bytes);
  void enqueue(Instant at, Packet p);
  bool silent(Instant now, int plane, int node) const;

  Rng rng_;
  std::vector<LinkConfig> links_;
  std::map<IpAddress, Host> hosts_;
  std::map<std::pair<int, int>, int64_t> busy_until_;  // by (node, plane): when the link is free again
  std::map<std::pair<int, int>, uint32_t> in_burst_loss_;
  std::map<uint16_t, double> ev_loss_;
  std::vector<Outage> outages_;
  std::vector<Pause> pauses_;
  Filter filter_;
  std::map<Key, Packet> queue_;
  uint64_t order_ = 0;
  uint64_t injected_ = 0;
  bool coalesce_ = false;
  SimNetCounters counters_;
};

}  // namespace mrc::simnet
