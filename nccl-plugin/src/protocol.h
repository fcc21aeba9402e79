// The data protocol between the two ends of a connection.
//
// For each group of receives (1..8 buffers) the receiver writes a row of slots into the sender's FIFO, one slot per
// buffer. Rows are numbered from 1; row r has place r modulo kRows. A slot is valid when its `row` is the number
// that the sender expects next: it is the slot's last word, and a packet is stored in ascending order [spec/clients.md
// rule 14]. A write carries at most four slots, so that it is one packet with any MTU and is stored in order as
// a whole; slots of a row may still arrive one before the other, so each is checked.
//
// The sender writes each message straight to the address in its slot. The last message of a row ends it by a write with
// immediate on every queue pair (lane) that carried a part of the row. The immediate gives the row's place; it, or
// a size record, contains the sizes:
//
//   bits 31..24 place   bit 23: 0   bits 22..0: bytes of the one message, all on this lane
//   bits 31..24 place   bit 23: 1   bits  7..0: lanes that end this row, each by such an immediate; one of these writes
//                                   carried the row's sizes (8 words of 64 bit) to the receiver's size records
//
// Data before an immediate on its lane is in memory when the receiver gets its completion, so the row is complete when
// all its immediates have arrived. A row's messages use one lane, chosen by its number, or are split over all of them.
#pragma once

#include <cstdint>

#include "net_abi.h"

namespace mrc::nccl {

inline constexpr int kMaxRecvs = 8;                                   // buffers of a group, maxRecvs
inline constexpr uint32_t kRows = NCCL_NET_MAX_REQUESTS * kMaxRecvs;  // groups posted at a time, at most
static_assert(kRows == 256, "a place has 8 bits in the immediate");

inline constexpr uint32_t kImmSizes = 1u << 23;
inline constexpr uint32_t kImmLargest = kImmSizes - 1;

inline constexpr uint64_t kLargestWrite = 1ULL << 30;            // bytes of one work request
inline constexpr uint64_t kLargestMessage = 64 * kLargestWrite;  // bounds the work requests of one message
inline constexpr int kSlotsPerWrite = 4;

struct alignas(64) Slot {
  uint64_t addr;
  uint64_t size;
  uint32_t keys[8];  // by member device of the receiver
  int32_t tag;
  uint32_t count;  // slots of the row
  uint64_t row;
};
static_assert(sizeof(Slot) == 64);

struct SizeRecord {
  uint64_t sizes[kMaxRecvs];
};

// Whether the write that ends a message on a lane carries none of its data: a full packet with an immediate is longer
// than those before it, and would leave in a burst of its own, of 128 KiB in a fourth one; one without data leaves with
// them. Of small messages the acknowledgement of the slots may follow in the last full packet.
inline bool ends_without_data(uint64_t bytes, uint32_t mtu) {
  constexpr uint64_t kMin = 64 << 10;
  return bytes == 0 || (bytes >= kMin && bytes % mtu == 0);
}
inline uint32_t place_of(uint64_t row) {
  return static_cast<uint32_t>(row % kRows);
}
inline uint32_t imm_with_size(uint64_t row, uint64_t size) {
  return place_of(row) << 24 | static_cast<uint32_t>(size);
}
inline uint32_t imm_with_lanes(uint64_t row, uint32_t lanes) {
  return place_of(row) << 24 | kImmSizes | lanes;
}

}  // namespace mrc::nccl
