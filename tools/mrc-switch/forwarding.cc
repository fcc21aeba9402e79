#include "forwarding.h"

#include <algorithm>
#include <cstring>

namespace mrc::softswitch {
namespace {

constexpr size_t kBlock = 4, kUsid = 2;

IpAddress masked(const IpAddress& a, uint32_t length) {
  IpAddress m = a;
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t kept = std::clamp<int64_t>(static_cast<int64_t>(length) - 8 * i, 0, 8);
    m.bytes[i] = static_cast<uint8_t>(m.bytes[i] & (0xFF00 >> kept));
  }
  return m;
}

}  // namespace

size_t Forwarding::Hash::operator()(const IpAddress& a) const {
  uint64_t high = 0, low = 0;
  std::memcpy(&high, a.bytes.data(), 8);
  std::memcpy(&low, a.bytes.data() + 8, 8);
  return (high ^ low * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull >> 16;
}

void Forwarding::add_route(const IpAddress& prefix, uint32_t length, std::vector<uint16_t> ports) {
  auto at = std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) { return t.length <= length; });
  if (at == tables_.end() || at->length != length) at = tables_.insert(at, Table{length, {}});
  at->routes[masked(prefix, length)] = std::move(ports);
}

void Forwarding::set_up(uint16_t port, bool up) {
  if (port >= down_.size()) down_.resize(port + 1u);
  down_[port] = !up;
}

const std::vector<uint16_t>* Forwarding::find(const IpAddress& to) const {
  for (const Table& t : tables_) {
    const auto found = t.routes.find(masked(to, t.length));
    if (found != t.routes.end()) return &found->second;
  }
  return nullptr;
}

// uN: the list moves up by one place, zeros follow.
bool Forwarding::shift_own(Frame* f) const {
  IpAddress to = destination(*f);
  if (!has_own_ || std::memcmp(to.bytes.data(), own_.bytes.data(), kBlock + kUsid) != 0) return false;
  std::memmove(to.bytes.data() + kBlock, to.bytes.data() + kBlock + kUsid, 16 - kBlock - kUsid);
  to.bytes[14] = to.bytes[15] = 0;
  set_destination(f, to);
  return true;
}

Decision Forwarding::decide(Frame* f) const {
  const IpAddress to = destination(*f);
  const bool ends_here = has_own_ && to == own_;
  if (ends_here && !advance_segment(f)) return {Verdict::kLocal};
  if (!ends_here && (to.bytes[0] == 0xFF || to.is_link_local())) return {Verdict::kLocal};
  if (hop_limit(*f) <= 1) return {Verdict::kHopLimit};
  set_hop_limit(f, static_cast<uint8_t>(hop_limit(*f) - 1));
  shift_own(f);
  const std::vector<uint16_t>* ports = find(destination(*f));
  if (ports == nullptr || ports->empty()) return {Verdict::kNoRoute};
  const auto is_up = [&](uint16_t p) { return p >= down_.size() || !down_[p]; };
  const auto alive = static_cast<size_t>(std::count_if(ports->begin(), ports->end(), is_up));
  if (alive == 0) return {Verdict::kLinkDown, (*ports)[0]};
  size_t turn = alive > 1 ? flow_hash(*f, salt_) % alive : 0;
  for (const uint16_t p : *ports)
    if (is_up(p) && turn-- == 0) return {Verdict::kForward, p};
  return {Verdict::kNoRoute};
}

}  // namespace mrc::softswitch
