// EgressPort: the queues before one link, whose rules are those of sim/queue/switch_queue.h for real frames, and the
// link's line.
//
// Sans-IO: no clock, no socket. Time is an argument that never runs backwards; the owner calls finish() when
// line_free() has come. Bytes are those of the Ethernet frame, as the kernel's shapers count; rates bits per second.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "frame.h"
#include "sim/queue/switch_queue.h"

namespace mrc::softswitch {

struct QueueConfig : queueing::QueueRules {
  CodePoints dscp;
};

struct PortCounters {
  uint64_t tx_packets = 0, tx_bytes = 0, data_packets = 0, data_bytes = 0;
  uint64_t marked = 0, trimmed = 0;
  uint64_t data_drops = 0, trimmed_drops = 0, control_drops = 0;
  uint64_t lost_down = 0;  // queued or arrived while the link was down
  int64_t max_queue = 0;   // largest data queue, bytes
};

// Receives the frames that the switch no longer needs.
class FrameOwner {
 public:
  virtual ~FrameOwner() = default;
  virtual void release(Frame* f) = 0;
};

class EgressPort {
 public:
  EgressPort(FrameOwner* owner, Rng* rng, double rate_bps, const QueueConfig& queue);
  ~EgressPort();
  EgressPort(const EgressPort&) = delete;
  EgressPort& operator=(const EgressPort&) = delete;

  void enqueue(Frame* f, Instant now);
  // When the frame on the line has left whole; never: nothing is on it.
  Instant line_free() const { return on_line_ == nullptr ? Instant::never() : free_at_; }
  // That frame, which is the caller's now; the next one takes the line.
  Frame* finish();

  void set_up(bool up);  // a link that goes down loses the queued frames and the one on the line
  bool up() const { return up_; }
  void set_rate(double bps);  // from the next frame on; 0: no limit
  double rate() const { return rate_; }
  int64_t queued_bytes() const { return queue_.data().bytes(); }
  const QueueConfig& queue() const { return q_; }
  const PortCounters& counters() const { return counters_; }
  void check() const;

 private:
  void trim_frame(Frame* f);
  void drop(Frame* f, uint64_t* counter);
  void transmit(Frame* f, Instant now);

  FrameOwner* const owner_;
  const QueueConfig q_;
  double rate_ = 0, ns_per_byte_ = 0;
  bool up_ = true;
  Instant free_at_;
  Frame* on_line_ = nullptr;
  queueing::SwitchQueue<Frame> queue_;
  PortCounters counters_;
};

}  // namespace mrc::softswitch
