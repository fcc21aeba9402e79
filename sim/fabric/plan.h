// The address plan of a fabric [spec/wire.md, SRv6; MRC structured EVs], computed, never stored, so that 131,072 NICs
// cost nothing:
//
//     NIC n on plane p        fd00:<p+1>:<t0>::<index below the T0 + 1>
//     uSID list of a path     <block>:<uN of T0>:<uN of T1>:<uN of far T0>:<NIC>::   (block 32 bits, uSID 16 bits)
//     same T0                 <block>:<uN of T0>:<NIC>::
//
// A uN switch holds static /48 routes: its own uSID (shift the list by 16 bits and look up again), those of its
// neighbours, and on a T0 those of its NICs. An EV of a NIC names plane and T1; its value also travels in the UDP
// source port, from kEvPortBase, which structured-EV switches read and others hash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "sim/fabric/fabric.h"

namespace mrc::sim {

enum class Tier : uint8_t { kT0, kT1 };

inline constexpr uint16_t kEvPortBase = 0xC000;  // 49152
inline constexpr uint16_t kNoPort = 0xFFFF;

// Sets the bytes `at` and at + 1 of an address to the low half of a number, most significant byte first.
inline void put16(IpAddress* a, size_t at, uint32_t v) {
  a->bytes[at] = static_cast<uint8_t>(v >> 8);
  a->bytes[at + 1] = static_cast<uint8_t>(v);
}

struct Ev {
  uint32_t value = 0;  // UDP source port in the low half
  uint8_t plane = 0;
};

// Routes of one switch: 16-bit uSID to port. Open addressing; lookups are on the path of every packet.
class UsidTable {
 public:
  void add(uint16_t usid, uint16_t port);
  uint16_t find(uint16_t usid) const {  // kNoPort: no route
    if (slots_.empty()) return kNoPort;
    for (size_t i = hash(usid);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].usid == usid) return slots_[i].port;
      if (slots_[i].usid == 0) return kNoPort;
    }
  }
  size_t size() const { return used_; }

 private:
  struct Slot {
    uint16_t usid = 0, port = kNoPort;
  };
  size_t hash(uint16_t usid) const { return (usid * 40503u >> 4) & (slots_.size() - 1); }
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

class FabricPlan {
 public:
  explicit FabricPlan(const FabricSpec& spec) : spec_(spec) {}
  const FabricSpec& spec() const { return spec_; }

  IpAddress nic_address(uint32_t plane, uint32_t nic) const;
  // Inverse; none when no NIC has it.
  struct NicPort {
    uint32_t plane, nic;
  };
  std::optional<NicPort> nic_of(const IpAddress& address) const;

  uint16_t usid(uint32_t plane, Tier tier, uint32_t index) const;
  uint16_t nic_usid(uint32_t plane, uint32_t nic) const;
  IpAddress path(uint32_t plane, uint32_t src, uint32_t t1, uint32_t dst) const;

  // Ports of a T0: its NICs, then its T1s. Ports of a T1: its T0s.
  uint32_t port_count(Tier tier) const { return tier == Tier::kT0 ? spec_.nics_per_t0 + spec_.t1 : spec_.t0; }
  UsidTable routes(uint32_t plane, Tier tier, uint32_t index) const;

  // EV table of a NIC: active ones first, planes in turn, T1s in an order drawn from `seed` so that NICs differ.
  std::vector<Ev> evs(uint32_t nic, uint64_t seed) const;
  uint32_t t1_of(uint32_t ev_value) const { return ((ev_value & 0xFFFF) - kEvPortBase) % spec_.t1; }

  // Follows a packet through the switches' tables. Empty when it arrives at `dst` over `t1`, else what went wrong.
  std::string walk(uint32_t plane, uint32_t src, uint32_t t1, uint32_t dst) const;

 private:
  FabricSpec spec_;
};

// One uN step: true when the list begins with `block` and `own`; then the list is shifted by one uSID.
bool shift_usid(IpAddress* list, const IpAddress& block, uint16_t own);
inline uint16_t first_usid(const IpAddress& list) {
  return static_cast<uint16_t>(list.bytes[4] << 8 | list.bytes[5]);
}

}  // namespace mrc::sim
