// Address handle: the destination of datagrams. The process at the destination follows from the QPN of each request, so
// a handle has one peer of the engine for each process that it was used for, at most device::kSlots. [API-UD-3]
#pragma once

#include <cstdint>
#include <vector>

#include "api/public.h"
#include "api/soft_memory.h"
#include "base/ids.h"
#include "base/ip.h"
#include "device/device.h"
#include "result.h"

namespace mrc::api {

class AddressHandle {
 public:
  AddressHandle(ibv_pd* pd, const ibv_ah_attr& attr);
  ~AddressHandle();
  AddressHandle(const AddressHandle&) = delete;
  AddressHandle& operator=(const AddressHandle&) = delete;
  static AddressHandle* of(ibv_ah* ah) { return reinterpret_cast<AddressHandle*>(ah); }
  ibv_ah* verbs() { return &ah_; }

  bool inherited() const { return soft_->device().inherited(); }  // the parent's, in a child of fork [API-FRK-1]
  uint8_t traffic_class() const { return traffic_class_; }
  bool is_group() const { return dgid_.is_multicast(); }
  // The peer that has the QPN, or the group. An error's code is an errno value. Throws std::bad_alloc.
  Result<core::PeerId> peer_of(Qpn qpn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock);

 private:
  struct SlotPeer {
    uint8_t slot;
    core::PeerId peer;
  };

  ibv_ah ah_{};  // the first member
  const PdHold pd_;
  SoftContext* const soft_;
  IpAddress dgid_;
  const uint8_t traffic_class_;
  const uint8_t hop_limit_;
  std::vector<SlotPeer> peers_ ABSL_GUARDED_BY(device::device_lock);
};

}  // namespace mrc::api
