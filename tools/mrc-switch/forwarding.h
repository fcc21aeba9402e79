// Forwarding: the static tables of one switch and their decision about a packet [spec/srv6.md, MRC-SR-2 and MRC-SR-3].
//
// A destination that begins with the switch's own uSID is shifted by one place and looked up again; then the longest
// prefix decides. Routes with several ports spread flows by hash over those that are up. One switch is one hop
// [MRC-SW-5]. Packets addressed to the switch itself (its link-local addresses, its own uSID with an empty list,
// multicast) is the kernel's: it has a copy of every frame and answers neighbour solicitations and pings.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "frame.h"

namespace mrc::softswitch {

enum class Verdict : uint8_t {
  kForward,
  kLocal,     // for the kernel
  kNoRoute,   // or a blackhole
  kLinkDown,  // every port of the route
  kHopLimit,  // used up
};

struct Decision {
  Verdict verdict = Verdict::kNoRoute;
  uint16_t port = 0;
};

class Forwarding {
 public:
  // Own uSID: block (32 bits) and the 16 bits behind it, of `address`.
  void set_own(const IpAddress& address) { own_ = address, has_own_ = true; }
  // Several ports: by hash. None: a blackhole.
  void add_route(const IpAddress& prefix, uint32_t length, std::vector<uint16_t> ports);
  void set_up(uint16_t port, bool up);
  void set_salt(uint64_t salt) { salt_ = salt; }

  // Changes the frame's destination and hop limit as the switch does.
  Decision decide(Frame* f) const;

 private:
  struct Hash {
    size_t operator()(const IpAddress& a) const;
  };
  struct Table {
    uint32_t length = 0;
    std::unordered_map<IpAddress, std::vector<uint16_t>, Hash> routes;
  };
  const std::vector<uint16_t>* find(const IpAddress& to) const;
  bool shift_own(Frame* f) const;

  IpAddress own_;
  bool has_own_ = false;
  std::vector<Table> tables_;  // longest prefix first
  std::vector<bool> down_;
  uint64_t salt_ = 0;
};

}  // namespace mrc::softswitch
