// ControlRing: a fixed ring of encoded control packets. Packets leave in ring order, except that those of one flow can
// leave together: push() links each packet behind the last queued one of its flow, so a burst follows the links and
// neither push() nor take() searches the ring. The last packets are found in a small table by a hash of the flow; when
// two flows share an entry, a packet may stay unlinked and then starts a burst of its own, still behind the earlier
// packets of its flow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"
#include "invariant.h"
#include "wire/flow.h"

namespace mrc::core {

inline constexpr uint32_t kControlRoom = 128;  // the largest control packet, SPTH and ICRC included, is as long

struct ControlPacket {
  wire::Flow flow;
  EvIndex ev_index;
  uint16_t padding = 0;  // zeros between headers and ICRC; the ICRC is then computed when the packet is sent
  PlaneId plane;
  uint8_t length = 0;  // headers and ICRC
  std::array<uint8_t, kControlRoom> bytes;
};

class ControlRing {
 public:
  // `capacity`: a power of two.
  explicit ControlRing(uint32_t capacity) : slots_(capacity) {}

  uint32_t count() const { return count_; }
  // A packet that was taken early occupies its slot until those before it are taken too.
  bool full() const { return tail_ - head_ == slots_.size(); }
  ControlPacket& next_free() { return at(tail_).packet; }
  void push();  // the packet written to next_free()

  // Packets are named by their number in the order of push(). front() is the first queued one; count() is not 0.
  uint32_t front() const { return head_; }
  const ControlPacket& packet(uint32_t number) const { return at(number).packet; }
  // Removes a packet. It stays readable until the next push().
  void take(uint32_t number);
  // The next packet of the same flow. Valid until that packet is taken.
  std::optional<uint32_t> next_of_flow(uint32_t number) const {
    const uint16_t to_next = at(number).to_next;
    return to_next != 0 ? std::optional(number + to_next) : std::nullopt;
  }
  void check() const;

 private:
  static constexpr size_t kFlows = 256;
  struct Slot {
    ControlPacket packet;
    uint16_t to_next = 0;  // packets to the next one of the flow; 0: none is linked
    bool taken = false;
  };

  Slot& at(uint32_t number) { return slots_[number & (slots_.size() - 1)]; }
  const Slot& at(uint32_t number) const { return slots_[number & (slots_.size() - 1)]; }
  static size_t hash(const ControlPacket& p);

  std::vector<Slot> slots_;
  std::array<uint32_t, kFlows> last_{};  // by hash: the number of the packet that was pushed last
  uint32_t head_ = 0, tail_ = 0;         // [head_, tail_) are in the ring; the one at head_ is not taken
  uint32_t count_ = 0;                   // of them, not taken
};

}  // namespace mrc::core
