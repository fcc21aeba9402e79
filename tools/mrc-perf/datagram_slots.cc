#include "datagram_slots.h"

#include "connection.h"

namespace mrc::perf {

namespace {

constexpr uint32_t kGrhBytes = 40;  // in front of the data of every receive request
constexpr uint32_t kList = 32;      // requests that are posted together

uint64_t checked(uint64_t bytes) {
  check_receive_bytes(bytes);
  return bytes;
}

}  // namespace

DatagramSlots::DatagramSlots(const Device& device, uint32_t qps, uint32_t per_qp, uint64_t size)
    : qps_(qps),
      per_qp_(per_qp),
      bytes_((size + kGrhBytes + 63) / 64 * 64),
      buffer_(device, checked(uint64_t{per_qp} * qps * bytes_)),
      wrs_(kList),
      sges_(kList) {}

const uint8_t* DatagramSlots::data(uint64_t slot) const {
  return at(slot) + kGrhBytes;
}
uint64_t DatagramSlots::data_bytes(uint64_t received) {
  return received - kGrhBytes;
}

bool DatagramSlots::must_post(uint64_t slot) const {
  return waiting_ == kList || (waiting_ > 0 && qp_of(slot) != waiting_qp_);
}

void DatagramSlots::add(uint64_t slot) {
  waiting_qp_ = qp_of(slot);
  sges_[waiting_] = {reinterpret_cast<uint64_t>(at(slot)), static_cast<uint32_t>(bytes_), buffer_.mr().lkey};
  wrs_[waiting_] = {kSlot | slot, nullptr, &sges_[waiting_], 1};
  if (waiting_ > 0) wrs_[waiting_ - 1].next = &wrs_[waiting_];
  ++waiting_;
}

ibv_recv_wr* DatagramSlots::take() {
  waiting_ = 0;
  return wrs_.data();
}

}  // namespace mrc::perf
