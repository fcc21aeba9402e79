// EgressPort: the queues before one link, and the link's line. The rules are those of sim/model/port.h, for real
// frames:
//
//     control     strictly first
//     trimmed     a share of the line while data waits, all of it otherwise
//     data        beyond `data_limit` a packet that may be trimmed is trimmed; one that may not be is dropped beyond
//                 `drop_limit` (without trimming: beyond `data_limit`)
//
// and what does not fit into the control or trimmed queue is dropped. When data begins to leave it is marked CE with a
// probability that rises from 0 to 1 between `ecn_min` and `ecn_max` of the data that it leaves behind [spec/nscc.md,
// spec/wire.md MRC-DSCP-1, spec/switch.md MRC-SW-1..3].
//
// Sans-IO: no clock, no socket. Time is an argument that never runs backwards; the owner calls finish() when
// line_free() has come. Bytes are those of the Ethernet frame, as the kernel's shapers count; rates bits per second.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "frame.h"

namespace mrc::softswitch {

struct QueueConfig {
  bool trimming = false;
  bool trim_random = false;   // a toss between the arriving packet and the newest that waits
  bool last_hop = false;      // to a host: trimmed packets say so
  uint32_t trim_bytes = 128;  // of what is left of a trimmed packet
  int64_t data_limit = INT64_MAX;
  int64_t drop_limit = INT64_MAX;
  int64_t trimmed_limit = INT64_MAX;
  int64_t control_limit = INT64_MAX;
  double trimmed_share = 0.25;
  int64_t ecn_min = INT64_MAX, ecn_max = INT64_MAX;
  CodePoints dscp;
};

struct PortCounters {
  uint64_t tx_packets = 0, tx_bytes = 0, data_packets = 0, data_bytes = 0;
  uint64_t marked = 0, trimmed = 0;
  uint64_t data_drops = 0, trimmed_drops = 0, control_drops = 0;
  uint64_t lost_down = 0;  // waited or came while the link was down
  int64_t max_queue = 0;   // largest data queue, bytes
};

// First in, first out, with its size in bytes.
class FrameFifo {
 public:
  void push(Frame* f);
  Frame* pop();                      // nullptr: empty
  Frame* exchange_newest(Frame* f);  // puts `f` in the place of the newest, which is returned
  bool empty() const { return head_ == nullptr; }
  Frame* front() const { return head_; }
  int64_t bytes() const { return bytes_; }

 private:
  Frame* head_ = nullptr;
  Frame* tail_ = nullptr;
  int64_t bytes_ = 0;
};

// Takes back what the switch no longer needs.
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

  void set_up(bool up);  // a link that goes down loses what waits and what is on the line
  bool up() const { return up_; }
  void set_rate(double bps);  // from the next frame on; 0: no limit
  double rate() const { return rate_; }
  int64_t queued_bytes() const { return data_.bytes(); }
  int64_t trimmed_bytes() const { return trimmed_.bytes(); }
  int64_t control_bytes() const { return control_.bytes(); }
  const QueueConfig& queue() const { return q_; }
  const PortCounters& counters() const { return counters_; }

 private:
  bool admit(Frame* f);
  bool drop(Frame* f, uint64_t* counter);
  Frame* next_frame();
  void transmit(Frame* f, Instant now);

  FrameOwner* const owner_;
  Rng* const rng_;
  const QueueConfig q_;
  double rate_ = 0, ns_per_byte_ = 0;
  bool up_ = true;
  Instant free_at_;
  Frame* on_line_ = nullptr;
  double trimmed_credit_ = 0;  // bytes that trimmed packets may send before data has its turn
  FrameFifo control_, trimmed_, data_;
  PortCounters counters_;
};

}  // namespace mrc::softswitch
