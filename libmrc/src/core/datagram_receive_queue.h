// DatagramReceiveQueue: the posted receive requests of datagram QPs, of one or several, with their memory. The ring
// doubles until it holds the maximum ever queued, so that an idle queue stays small. [MRC-UD-7]
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/types.h"

namespace mrc::core {

class DatagramReceiveQueue {
 public:
  struct Request {
    uint64_t wr_id = 0;
    uint64_t bytes = 0;  // of all elements
    const Sge* sges = nullptr;
    uint32_t num_sge = 0;
  };

  // `shared`: it serves several QPs, and outlives the failure of each.
  DatagramReceiveQueue(uint32_t max_wr, uint32_t max_sge, uint32_t pd, bool shared)
      : max_wr_(max_wr), max_sge_(max_sge), pd_(pd), shared_(shared) {}
  DatagramReceiveQueue(const DatagramReceiveQueue&) = delete;
  DatagramReceiveQueue& operator=(const DatagramReceiveQueue&) = delete;

  // Throws std::bad_alloc, and changes nothing then.
  [[nodiscard]] PostResult post(uint64_t wr_id, const Sge* sges, uint32_t num_sge);
  bool empty() const { return head_ == tail_; }
  uint32_t size() const { return tail_ - head_; }
  uint32_t pd() const { return pd_; }
  bool shared() const { return shared_; }
  // The oldest request; valid until the next call that is not const.
  Request front() const;
  void pop() { ++head_; }
  void clear() { head_ = tail_; }
  void check() const;

 private:
  struct Slot {
    uint64_t wr_id = 0;
    uint64_t bytes = 0;
    uint32_t num_sge = 0;
  };
  static constexpr size_t kInitial = 16;

  size_t index(uint32_t i) const { return i & (slots_.size() - 1); }
  void grow();

  const uint32_t max_wr_, max_sge_, pd_;
  const bool shared_;
  std::vector<Slot> slots_;
  std::vector<Sge> sges_;         // max_sge_ of each slot
  uint32_t head_ = 0, tail_ = 0;  // modulo 2^32, a multiple of the slots
};

}  // namespace mrc::core
