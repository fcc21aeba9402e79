// Port: one direction of a link with the queues before it, whose rules are those of sim/queue/switch_queue.h.
//
// What was sent arrives in order after serialisation (line.h) and propagation (packets_on_wire.h). So a port needs two
// reusable events, "line free" and "first packet on the wire arrives", for any number of packets; and "line free" is
// only scheduled when something waits.
//
// Faults are implemented here: down, loss, rate, delay. All in picoseconds and bytes.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "sim/model/event.h"
#include "sim/model/line.h"
#include "sim/model/packet.h"
#include "sim/model/packets_on_wire.h"

namespace mrc::sim {

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
  void connect(Receiver* to, uint16_t port_there, Ps latency = 0) { on_wire_.connect(to, port_there, latency); }
  void set_owner(PortOwner* owner, uint16_t index) { owner_ = owner, index_ = index; }

  void enqueue(Packet* p);
  bool up() const { return up_; }
  bool idle() const { return queue_.count() == 0 && now_ps() >= line_.free_at(); }
  const PacketFifo& data() const { return queue_.data(); }
  const PacketFifo& control() const { return queue_.control(); }
  int64_t queued_bytes() const { return queue_.data().bytes() + queue_.trimmed().bytes() + queue_.control().bytes(); }
  const PortCounters& counters() const { return counters_; }
  int64_t take_peak_queue();  // largest data queue since the last call

  // Faults. A link that goes down loses the queued packets and those on the wire, not those that a switch has received.
  void set_up(bool up);
  void set_loss(double probability) { loss_ = probability; }
  void set_rate(double bps) { line_.set_rate(bps); }
  double nominal_rate() const { return line_.nominal_rate(); }
  void set_extra_delay(Ps extra) { line_.set_extra_delay(extra); }
  double loss() const { return loss_; }
  double rate() const { return line_.rate(); }
  Ps extra_delay() const { return line_.extra_delay(); }
  void set_paused(bool paused);  // PFC: data is held, control is sent
  bool paused() const { return paused_; }
  bool faulty() const { return !up_ || loss_ > 0 || line_.faulty(); }
  void check() const;

 private:
  void trim(Packet* p);
  void drop(Packet* p, uint64_t* counter);
  void transmit(Packet* p);
  void line_free();
  void expect_line() const;
  void schedule_line();

  // What every packet needs stands together, beside the events, which are fetched ahead with what is before them.
  const QueueConfig q_;
  PortCounters counters_;
  PacketPool* const pool_;
  Rng* const rng_;
  int64_t peak_ = 0;
  queueing::SwitchQueue<Packet> queue_;
  double loss_ = 0;
  PortOwner* owner_ = nullptr;
  uint16_t index_ = 0;
  bool up_ = true, paused_ = false, line_event_ = false;
  Line line_;
  Recurring<Port, &Port::line_free, &Port::expect_line> line_free_event_{this};
  PacketsOnWire on_wire_;
};

}  // namespace mrc::sim
