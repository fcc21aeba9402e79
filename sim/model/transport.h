// What a workload sees of a NIC, whatever transport it runs: messages go in, "sent" (the sender's completion) and
// "received" (the receiver has all of it) come out. Listener calls come from inside events, never from inside send().
#pragma once

#include <cstdint>

#include "sim/config/units.h"

namespace mrc::sim {

struct Message {
  uint32_t id = 0;  // of the workload; both callbacks give it back
  uint32_t src = 0, dst = 0;
  uint32_t qp = 0;  // which of the QPs between the two
  uint64_t bytes = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_sent(uint32_t id) = 0;
  virtual void on_received(uint32_t id) = 0;
  virtual void on_failed(uint32_t id) = 0;  // its QP has gone to error
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual void send(const Message& m) = 0;
};

}  // namespace mrc::sim
