// The interface of a NIC to a workload, for any transport: messages are posted, "sent" (the sender's completion) and
// "received" (the receiver has it all) are reported. Listener calls come from inside events, never from inside send().
#pragma once

#include <cstdint>

#include "sim/config/units.h"

namespace mrc::sim {

struct Message {
  uint32_t id = 0;  // of the workload; both callbacks return it
  uint32_t src = 0, dst = 0;
  uint32_t qp = 0;  // which of the QPs between the two
  uint64_t bytes = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_sent(uint32_t id) = 0;
  virtual void on_received(uint32_t id) = 0;
  virtual void on_failed(uint32_t id) = 0;  // its QP is in error
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Sets up the connection of that number to a NIC before its first message. No effect where connections need no time.
  virtual void connect(uint32_t /*dst*/, uint32_t /*qp*/) {}
  virtual void send(const Message& m) = 0;
};

}  // namespace mrc::sim
