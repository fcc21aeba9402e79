// UDP source ports that endpoints announce to each other [MRC-EXT-8..11, spec/wire.md]: an endpoint's own, in the parts
// in which they are sent, and those of a peer, as they are collected part by part and then compared with every packet
// for a QP [MRC-SEC-9].
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/planes.h"
#include "core/config.h"
#include "invariant.h"
#include "wire/spth.h"

namespace mrc::core {

// Derived from the EV table: ascending per plane, each once. Fixed like the table.
class OwnSourcePorts {
 public:
  explicit OwnSourcePorts(const EndpointConfig& config);
  // The part that begins at index `first` of the plane's ports; empty beyond their end.
  wire::Spth part(PlaneId plane, uint16_t first) const;

 private:
  PerPlane<std::vector<uint16_t>> ports_;  // by plane
  uint32_t set_ = 0;
};

// Those of one peer. The set in force is replaced only by a complete new one.
class PeerSourcePorts {
 public:
  static constexpr uint32_t kMaxPorts = 4096;  // of all planes; a longer list is refused

  bool announced() const { return !ports_.empty(); }
  size_t count() const { return ports_.size(); }
  // A search without a branch to guess: every packet is looked up, and the answers of the comparisons look random.
  bool contains(PlaneId plane, uint16_t port) const {
    if (ports_.empty()) return false;
    const uint32_t wanted = key(plane, port);
    const uint32_t* first = ports_.data();
    for (size_t left = ports_.size(); left > 1;) {
      const size_t half = left / 2;
      first += first[half] <= wanted ? half : 0;
      left -= half;
    }
    return *first == wanted;
  }

  // Starts a collection; the set in force stays.
  void begin();
  // The part that is due.
  PlaneId plane() const { return plane_; }
  uint16_t first() const { return first_; }

  enum class Part : uint8_t {
    kRefused,    // not the part that is due, or malformed: it is still due; or the whole set was empty
    kTaken,      // the next part is due
    kRestarted,  // of another list than the parts before it: the first part is due
    kComplete    // the last part: the set is in force
  };
  // A part about `plane` from a peer that has `planes` planes, of which the first `wanted` are collected.
  Part take(PlaneId plane, uint32_t planes, uint32_t wanted, const wire::Spth& part);
  void check() const;

 private:
  static uint32_t key(PlaneId plane, uint16_t port) { return uint32_t{plane.value()} << 16 | port; }

  std::vector<uint32_t> ports_, collected_;  // ascending
  uint32_t set_ = 0;
  PlaneId plane_;
  uint16_t first_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
