// Port: one direction of a link with the queues before it, whose rules are those of sim/queue/switch_queue.h.
//
// The wire is a queue as well: what was sent arrives in order after serialisation and propagation. So a port needs two
// reusable events, "line free" and "first packet on the wire arrives", for any number of packets; and "line free"
// is only scheduled when something waits.
//
// Faults are implemented here: down, loss, rate, delay. All in picoseconds and bytes.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "sim/model/event.h"
#include "sim/model/packet.h"
#include "sim/model/wire.h"

namespace mrc::sim {

// Takes what arrives at the end of a link.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void receive(Packet* p, uint16_t port) = 0;
};

// Called when a port has sent a packet and may accept more; and when a packet of a class counted by PFC was sent.
class PortOwner {
 public:
  virtual ~PortOwner() = default;
  virtual void on_room(uint16_t) {}
  virtual void on_left(const Packet&) {}
};

struct QueueConfig : queueing::QueueRules {
  uint8_t trimmed_dscp = 12, trimmed_lasthop_dscp = 16;
};

struct PortCounters {
  uint64_t tx_packets = 0, tx_bytes = 0, data_packets = 0, data_bytes = 0;
  uint64_t marked = 0, trimmed = 0, queue_drops = 0, lost = 0, lost_down = 0;
  int64_t max_queue = 0;
};

class Port {
 public:
  Port(PacketPool* pool, Rng* rng, double rate_bps, Ps delay, const QueueConfig& queue);
  ~Port();
  // `latency`: of the switch that receives, added behind the wire, so that it needs no event of its own.
  void connect(Receiver* to, uint16_t port_there, Ps latency = 0) {
    to_ = to, port_there_ = port_there, latency_there_ = latency;
  }
  void set_owner(PortOwner* owner, uint16_t index) { owner_ = owner, index_ = index; }

  void enqueue(Packet* p);
  bool up() const { return up_; }
  bool idle() const { return queue_.count() == 0 && now_ps() >= free_at_; }
  const PacketFifo& data() const { return queue_.data(); }
  const PacketFifo& control() const { return queue_.control(); }
  int64_t queued_bytes() const { return queue_.data().bytes() + queue_.trimmed().bytes() + queue_.control().bytes(); }
  const PortCounters& counters() const { return counters_; }
  int64_t take_peak_queue();  // largest data queue since the last call

  // Faults. A link that goes down loses the queued packets and those on the wire, not those that a switch has received.
  void set_up(bool up);
  void set_loss(double probability) { loss_ = probability; }
  void set_rate(double bps);
  double nominal_rate() const { return nominal_rate_; }
  void set_extra_delay(Ps extra) { extra_delay_ = extra; }
  double loss() const { return loss_; }
  double rate() const { return rate_; }
  Ps extra_delay() const { return extra_delay_; }
  void set_paused(bool paused);  // PFC: data is held, control is sent
  bool paused() const { return paused_; }
  bool faulty() const { return !up_ || loss_ > 0 || extra_delay_ != 0 || rate_ != nominal_rate_; }

 private:
  void trim(Packet* p);
  void drop(Packet* p, uint64_t* counter);
  void transmit(Packet* p);
  void line_free();
  void arrive();
  void expect_arrival() const;
  void expect_line() const;
  Ps serialisation(uint32_t bytes) const { return static_cast<Ps>(static_cast<double>(bytes) * ps_per_byte_ + 0.5); }

  // What every packet needs stands together, beside the events, which are fetched ahead with what is before them.
  const QueueConfig q_;
  PortCounters counters_;
  double nominal_rate_, rate_;
  PacketPool* const pool_;
  Rng* const rng_;
  int64_t peak_ = 0;
  queueing::SwitchQueue<Packet> queue_;
  double ps_per_byte_, loss_ = 0;
  PortOwner* owner_ = nullptr;
  uint16_t index_ = 0;
  bool up_ = true, paused_ = false, line_event_ = false;
  Ps delay_, extra_delay_ = 0, latency_there_ = 0;
  Ps free_at_ = 0, last_arrival_ = 0;
  Recurring<Port, &Port::line_free, &Port::expect_line> line_free_event_{this};
  Receiver* to_ = nullptr;
  uint16_t port_there_ = 0;
  Wire wire_;
  Recurring<Port, &Port::arrive, &Port::expect_arrival> arrive_event_{this};
};

}  // namespace mrc::sim
