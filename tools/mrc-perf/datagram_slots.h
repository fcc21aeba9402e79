// DatagramSlots: the receive slots of datagram queue pairs. Each receive request has a slot of its own; slots of one
// queue pair that are free again are posted together.
#pragma once

#include <cstdint>
#include <vector>

#include "device.h"

namespace mrc::perf {

class DatagramSlots {
 public:
  static constexpr uint64_t kSlot = 1ULL << 56;  // in the wr_id of receive requests, above the slot's number

  // `per_qp` slots for datagrams of `size` bytes of each of `qps` queue pairs.
  DatagramSlots(const Device& device, uint32_t qps, uint32_t per_qp, uint64_t size);

  uint32_t per_qp() const { return per_qp_; }
  uint64_t size() const { return uint64_t{per_qp_} * qps_; }
  uint32_t qp_of(uint64_t slot) const { return static_cast<uint32_t>(slot / per_qp_); }
  // What was received into it, without the room for a GRH in front.
  const uint8_t* data(uint64_t slot) const;
  static uint64_t data_bytes(uint64_t received);

  // The slot is to be posted again. True: first post what waits, which is of another queue pair, or enough.
  bool must_post(uint64_t slot) const;
  void add(uint64_t slot);
  bool empty() const { return waiting_ == 0; }
  uint32_t waiting_qp() const { return waiting_qp_; }
  // The requests that wait; they count as posted.
  ibv_recv_wr* take();

 private:
  uint8_t* at(uint64_t slot) const { return buffer_.data() + slot * bytes_; }

  const uint32_t qps_, per_qp_;
  const uint64_t bytes_;  // of a slot
  Memory buffer_;
  std::vector<ibv_recv_wr> wrs_;
  std::vector<ibv_sge> sges_;
  uint32_t waiting_ = 0, waiting_qp_ = 0;
};

}  // namespace mrc::perf
