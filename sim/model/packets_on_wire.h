// PacketsOnWire: the packets under way on a link, until each arrives at the receiver. They arrive in the order in which
// they were sent, so that one reusable event, "the first one arrives", serves any number of them.
#pragma once

#include <cstdint>
#include <utility>

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

class PacketsOnWire {
 public:
  PacketsOnWire() = default;
  PacketsOnWire(const PacketsOnWire&) = delete;
  PacketsOnWire& operator=(const PacketsOnWire&) = delete;

  // `latency`: of the switch that receives, added behind the wire, so that it needs no event of its own.
  void connect(Receiver* to, uint16_t port_there, Ps latency) {
    to_ = to, port_there_ = port_there, latency_there_ = latency;
  }
  // `arrival`: at the other end of the wire; not before that of the packets under way.
  void add(Packet* p, Ps arrival) {
    const Ps at = arrival + latency_there_;
    if (wire_.empty()) arrive_event_.schedule_at(at);
    wire_.push({at, p});
  }
  // The link goes down. Calls lose(Packet*) for the packets on the wire; those that a switch has received are its own.
  template <typename Lose>
  void cut(const Lose& lose) {
    Wire received;
    while (!wire_.empty()) {
      const Wire::Arrival a = wire_.pop();
      if (a.at - latency_there_ <= now_ps())
        received.push(a);
      else
        lose(a.packet);
    }
    wire_ = std::move(received);
  }
  // Removes one. Null: there is none.
  Packet* take_any() { return wire_.empty() ? nullptr : wire_.pop().packet; }

 private:
  void arrive() {
    if (wire_.empty() || wire_.front().at > now_ps()) return;  // the link was down in between
    Packet* const p = wire_.pop().packet;
    if (!wire_.empty()) arrive_event_.schedule_at(wire_.front().at);
    to_->receive(p, port_there_);
  }
  void expect_arrival() const {
    if (!wire_.empty()) __builtin_prefetch(wire_.front().packet);
  }

  // What an arrival needs stands before the event, which is fetched ahead with it.
  Ps latency_there_ = 0;
  Receiver* to_ = nullptr;
  uint16_t port_there_ = 0;
  Wire wire_;
  Recurring<PacketsOnWire, &PacketsOnWire::arrive, &PacketsOnWire::expect_arrival> arrive_event_{this};
};

}  // namespace mrc::sim
