// DatagramSendQueue: the posted datagrams of one QP in posting order, with their destinations. A datagram is one
// packet, so its number is that of its request. [MRC-UD-4]
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/datagram.h"
#include "core/send_queue.h"
#include "invariant.h"

namespace mrc::core {

class DatagramSendQueue {
 public:
  struct Destination {
    PeerId peer = kNoPeer;
    Qpn qpn;
    uint32_t qkey = 0;
    uint8_t traffic_class = 0;
    bool solicited = false;
  };

  void init(const QpCaps& caps) { requests_.init(caps); }
  // Throws std::bad_alloc, and changes nothing then.
  [[nodiscard]] PostResult post(const DatagramWr& wr, uint32_t mtu);
  bool has_unsent() const { return next_ < requests_.end_seq(); }
  bool has_sent() const { return !requests_.empty() && requests_.front().first_seq < next_; }
  bool empty() const { return requests_.empty(); }
  const SendQueue& requests() const { return requests_; }
  // The next datagram to be sent; there is one.
  const Wqe& next() { return requests_.find(next_, &hint_); }
  const Destination& next_destination() const { return destinations_[index(next_)]; }
  uint64_t next_number() const { return next_; }
  void on_sent() { ++next_; }
  void take_back(uint32_t sent) { next_ -= sent; }  // the last ones were not sent after all
  // The oldest request, and its peer.
  const Wqe& front() const { return requests_.front(); }
  PeerId front_peer() const { return destinations_[index(requests_.front().first_seq)].peer; }
  void pop_front() {
    if (!has_sent()) ++next_;
    requests_.pop_front();
  }
  void check() const {
    if constexpr (!kCheckInvariants) return;
    requests_.check();
    MRC_INVARIANT(next_ <= requests_.end_seq() && requests_.size() <= destinations_.size());
  }

 private:
  size_t index(uint64_t number) const { return number & (destinations_.size() - 1); }
  void grow();

  SendQueue requests_;
  std::vector<Destination> destinations_;  // by number
  uint64_t next_ = 0;                      // number of the next datagram to be sent
  uint64_t hint_ = 0;
};

}  // namespace mrc::core
