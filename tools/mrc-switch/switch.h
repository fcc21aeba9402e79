// Switch: forwarding between ingress lines and egress ports, in the time of the packets [spec/srv6.md].
//
// A burst that a sender's kernel hands over in one piece is the train here that it would be on a cable: a frame has
// arrived when the one before it on the same link has, plus its own time on the line. Events run in the order of their
// times, which come from the frames' own time stamps. So marks, trims and drops are the same when the process that runs
// the switch is late; only what it sends is late then.
//
// Sans-IO, single-threaded. receive() and run() take times that never run backwards.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "egress_port.h"
#include "forwarding.h"
#include "frame_pool.h"

namespace mrc::softswitch {

using Mac = std::array<uint8_t, 6>;

struct PortConfig {
  std::string name;
  Mac own_mac{}, peer_mac{};
  uint32_t mtu = 9216;  // of the IPv6 packet
  double rate = 0;      // bits per second; 0: no limit
  QueueConfig queue;
};

struct SwitchConfig {
  std::string name;
  IpAddress address;  // its own uSID, the source of its own messages
  CodePoints dscp;
  uint64_t seed = 1;
  std::vector<PortConfig> ports;
};

struct IngressCounters {
  uint64_t packets = 0, bytes = 0;
};

struct SwitchCounters {
  uint64_t malformed = 0;  // no whole IPv6 packet, or larger than the port's MTU
  uint64_t local = 0;      // left to the kernel
  uint64_t no_route = 0, hop_limit = 0, too_big = 0, link_down = 0;
};

class Switch {
 public:
  Switch(const SwitchConfig& config, FramePool* pool);

  Forwarding& forwarding() { return forwarding_; }
  // Takes ownership of the frame. `at`: when its last bit was seen; before an earlier frame's: as if it came with that.
  void receive(Frame* f, uint16_t port, Instant at);
  // Everything up to `until`, inclusive. Frames that have left are appended to `out`, with `port` the one they leave
  // by; the caller returns them to the pool.
  void run(Instant until, std::vector<Frame*>* out);
  Instant next_event() const;

  void set_up(uint16_t port, bool up);
  void set_rate(uint16_t port, double bps);

  size_t port_count() const { return egress_.size(); }
  const SwitchConfig& config() const { return config_; }
  const EgressPort& egress(size_t port) const { return *egress_[port]; }
  const IngressCounters& ingress(size_t port) const { return ingress_[port].counters; }
  const SwitchCounters& counters() const { return counters_; }

 private:
  struct Ingress {
    queueing::Fifo<Frame> line;  // in order of arrival
    Instant last;
    double ns_per_byte = 0;
    IngressCounters counters;
  };
  void forward(Frame* f, Instant now);
  void send_time_exceeded(Frame* f, Instant now);

  const SwitchConfig config_;
  FramePool* const pool_;
  Rng rng_;
  Forwarding forwarding_;
  std::vector<std::unique_ptr<EgressPort>> egress_;
  std::vector<Ingress> ingress_;
  SwitchCounters counters_;
};

}  // namespace mrc::softswitch
