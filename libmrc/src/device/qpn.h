// QP numbers: the top 8 bits are the process slot, the low 16 an index into the process's QP table. The QPN of a packet
// therefore determines its process, and with it the UDP port, where several processes share a device.
// Peers that are NICs use all 24 bits freely and listen on the standard port.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "invariant.h"

namespace mrc::device {

inline constexpr uint32_t kSlots = 256;
inline constexpr uint32_t kFirstQpIndex = 3;     // QPN 0, 1 and 2 are never a QP's (SMI, GSI, endpoint operations)
inline constexpr uint32_t kQpIndexEnd = 0xFFFF;  // 0xFFFFFF is the multicast QPN: index 0xFFFF is not used

constexpr Qpn make_qpn(uint8_t slot, uint16_t index) {
  return Qpn(static_cast<uint32_t>(slot) << 16 | index);
}
constexpr uint8_t slot_of(Qpn qpn) {
  return static_cast<uint8_t>(qpn.value() >> 16);
}
constexpr uint16_t index_of(Qpn qpn) {
  return static_cast<uint16_t>(qpn.value());
}

// Allocates QP numbers of one slot in rotation, so that a number is reused as late as possible and packets for its
// last owner are gone by then. The order of the rotation is a permutation by the key, so that the numbers in use cannot
// be guessed [MRC-SEC-7]. Not thread-safe.
class QpnAllocator {
 public:
  // At most `limit` numbers at a time.
  QpnAllocator(uint8_t slot, uint32_t limit, uint64_t key);
  Qpn take();  // 0: all are in use
  void give(Qpn qpn);
  uint32_t in_use() const { return in_use_; }

 private:
  uint16_t permuted(uint32_t turn) const;
  void check() const;

  uint8_t slot_;
  uint32_t limit_;
  uint64_t key_;
  uint32_t turn_ = 0;
  uint32_t in_use_ = 0;
  std::vector<bool> used_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::device
