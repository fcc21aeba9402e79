#include "core/source_ports.h"

#include <algorithm>
#include <functional>

namespace mrc::core {

OwnSourcePorts::OwnSourcePorts(const EndpointConfig& config) : ports_(config.planes.size()) {
  for (const EvEntry& ev : config.evs)
    if (ports_.has(ev.plane)) ports_[ev.plane].push_back(static_cast<uint16_t>(ev.value));
  set_ = 0x811C9DC5u;  // FNV-1a over planes and ports
  const auto mix = [this](uint32_t value) { set_ = (set_ ^ value) * 0x01000193u; };
  for (std::vector<uint16_t>& plane : ports_) {
    std::sort(plane.begin(), plane.end());
    plane.erase(std::unique(plane.begin(), plane.end()), plane.end());
    mix(static_cast<uint32_t>(plane.size()));
    for (const uint16_t port : plane) mix(port & 0xFF), mix(port >> 8);
  }
}

wire::Spth OwnSourcePorts::part(PlaneId plane, uint16_t first) const {
  wire::Spth part;
  part.first = first;
  part.set = set_;
  if (!ports_.has(plane)) return part;
  const std::vector<uint16_t>& ports = ports_[plane];
  part.total = static_cast<uint16_t>(std::min<size_t>(ports.size(), UINT16_MAX));
  for (uint32_t i = 0; i < wire::Spth::kPorts && first + i < part.total; ++i) part.ports[i] = ports[first + i];
  return part;
}

void PeerSourcePorts::begin() {
  collected_.clear();
  plane_ = 0_plane;
  first_ = 0;
}

PeerSourcePorts::Part PeerSourcePorts::take(PlaneId plane, uint32_t planes, uint32_t wanted, const wire::Spth& part) {
  if (plane != plane_ || part.first != first_ || planes <= plane.value()) return Part::kRefused;
  if (part.total < part.first || (part.total == part.first && part.first != 0)) return Part::kRefused;
  const uint32_t n = std::min<uint32_t>(wire::Spth::kPorts, part.total - part.first);
  if (collected_.size() + part.total - part.first > kMaxPorts) return Part::kRefused;
  uint16_t last = part.first == 0 ? uint16_t{0} : static_cast<uint16_t>(collected_.back());
  for (uint32_t i = 0; i < n; ++i) {
    if (part.ports[i] <= last) return Part::kRefused;
    last = part.ports[i];
  }
  collected_.reserve(collected_.size() + n);  // before any entry of the part is taken
  if (plane == 0_plane && part.first == 0) {
    set_ = part.set;
  } else if (part.set != set_) {  // the peer has restarted meanwhile
    begin();
    return Part::kRestarted;
  }
  for (uint32_t i = 0; i < n; ++i) collected_.push_back(key(plane, part.ports[i]));
  first_ = static_cast<uint16_t>(first_ + n);
  if (first_ < part.total) return Part::kTaken;
  plane_ = plane_at(plane_.value() + 1u);
  first_ = 0;
  if (plane_.value() < std::min(planes, wanted)) return Part::kTaken;
  if (collected_.empty()) {  // no endpoint is without ports, and an empty set would exclude the peer
    begin();
    return Part::kRefused;
  }
  ports_.swap(collected_);
  begin();
  return Part::kComplete;
}

void PeerSourcePorts::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(ports_.size() <= kMaxPorts && collected_.size() <= kMaxPorts);
  MRC_INVARIANT(plane_ != 0_plane || collected_.size() == first_);
  if (!pace_.due(ports_.size() + collected_.size())) return;
  for (const std::vector<uint32_t>* all : {&ports_, &collected_})  // each once
    MRC_INVARIANT(std::adjacent_find(all->begin(), all->end(), std::greater_equal<>()) == all->end());
}

}  // namespace mrc::core
