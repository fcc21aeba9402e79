#include "sim/fabric/plan.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"

namespace mrc::sim {
namespace {

uint32_t get16(const IpAddress& a, size_t at) {
  return static_cast<uint32_t>(a.bytes[at] << 8 | a.bytes[at + 1]);
}

}  // namespace

void UsidTable::add(uint16_t usid, uint16_t port) {
  if ((used_ + 1) * 2 > slots_.size()) {
    std::vector<Slot> old(std::max<size_t>(8, slots_.size() * 2));
    old.swap(slots_);
    used_ = 0;
    for (const Slot& s : old)
      if (s.usid != 0) add(s.usid, s.port);
  }
  size_t i = hash(usid);
  while (slots_[i].usid != 0 && slots_[i].usid != usid) i = (i + 1) & (slots_.size() - 1);
  if (slots_[i].usid == 0) ++used_;
  slots_[i] = {usid, port};
}

IpAddress FabricPlan::nic_address(uint32_t plane, uint32_t nic) const {
  IpAddress a;
  a.bytes[0] = 0xFD;
  put16(&a, 2, plane + 1);
  put16(&a, 4, spec_.t0_of(nic));
  put16(&a, 14, nic % spec_.nics_per_t0 + 1);
  return a;
}

std::optional<FabricPlan::NicPort> FabricPlan::nic_of(const IpAddress& a) const {
  const uint32_t p = get16(a, 2) - 1, t0 = get16(a, 4), host = get16(a, 14) - 1;
  if (a.bytes[0] != 0xFD || p >= spec_.planes || t0 >= spec_.t0 || host >= spec_.nics_per_t0) return std::nullopt;
  return NicPort{p, t0 * spec_.nics_per_t0 + host};
}

uint16_t FabricPlan::usid(uint32_t plane, Tier tier, uint32_t index) const {
  const UsidSpec& u = spec_.usid;
  return static_cast<uint16_t>((plane << u.plane_shift) + (tier == Tier::kT0 ? u.t0_base : u.t1_base) + index);
}

uint16_t FabricPlan::nic_usid(uint32_t plane, uint32_t nic) const {
  const uint32_t index = spec_.nic_usids_are_unique() ? nic : nic % spec_.nics_per_t0;
  return static_cast<uint16_t>((plane << spec_.usid.plane_shift) + spec_.usid.nic_base + index);
}

IpAddress FabricPlan::path(uint32_t plane, uint32_t src, uint32_t t1, uint32_t dst) const {
  IpAddress a;
  std::memcpy(a.bytes.data(), spec_.usid.block.bytes.data(), 4);
  size_t at = 4;
  const auto append = [&](uint16_t u) {
    put16(&a, at, u);
    at += 2;
  };
  append(usid(plane, Tier::kT0, spec_.t0_of(src)));
  if (spec_.t0_of(src) != spec_.t0_of(dst)) {
    append(usid(plane, Tier::kT1, t1));
    append(usid(plane, Tier::kT0, spec_.t0_of(dst)));
  }
  append(nic_usid(plane, dst));
  return a;
}

UsidTable FabricPlan::routes(uint32_t plane, Tier tier, uint32_t index) const {
  UsidTable t;
  if (tier == Tier::kT1) {
    for (uint32_t i = 0; i < spec_.t0; ++i) t.add(usid(plane, Tier::kT0, i), static_cast<uint16_t>(i));
    return t;
  }
  for (uint32_t h = 0; h < spec_.nics_per_t0; ++h)
    t.add(nic_usid(plane, index * spec_.nics_per_t0 + h), static_cast<uint16_t>(h));
  for (uint32_t i = 0; i < spec_.t1; ++i)
    t.add(usid(plane, Tier::kT1, i), static_cast<uint16_t>(spec_.nics_per_t0 + i));
  return t;
}

std::vector<Ev> FabricPlan::evs(uint32_t nic, uint64_t seed) const {
  const uint32_t total = spec_.ev.count + spec_.ev.backups;
  Rng rng(seed * 0x9E3779B97F4A7C15ull + nic);
  std::vector<Ev> all(total);
  // Per plane a shuffled list of its T1s; with more EVs than T1s, further laps give the same paths under new values.
  std::vector<std::vector<uint32_t>> order(spec_.planes);
  const uint32_t first_plane = rng.below(spec_.planes);
  for (uint32_t i = 0; i < total; ++i) {
    const uint32_t plane = (first_plane + i) % spec_.planes;
    const uint32_t turn = i / spec_.planes;
    std::vector<uint32_t>& o = order[plane];
    if (turn % spec_.t1 == 0) {
      o.resize(spec_.t1);
      for (uint32_t k = 0; k < spec_.t1; ++k) o[k] = k;
      for (uint32_t k = spec_.t1; k > 1; --k) std::swap(o[k - 1], o[rng.below(k)]);
    }
    const uint32_t lap = turn / spec_.t1;
    all[i] = {kEvPortBase + (lap * spec_.t1 + o[turn % spec_.t1]) % 0x4000, static_cast<uint8_t>(plane)};
  }
  return all;
}

bool shift_usid(IpAddress* list, const IpAddress& block, uint16_t own) {
  if (std::memcmp(list->bytes.data(), block.bytes.data(), 4) != 0 || first_usid(*list) != own) return false;
  std::memmove(list->bytes.data() + 4, list->bytes.data() + 6, 10);
  list->bytes[14] = list->bytes[15] = 0;
  return true;
}

std::string FabricPlan::walk(uint32_t plane, uint32_t src, uint32_t t1, uint32_t dst) const {
  IpAddress list = path(plane, src, t1, dst);
  Tier tier = Tier::kT0;
  uint32_t index = spec_.t0_of(src);
  bool crossed = false;
  for (int hop = 0; hop < 4; ++hop) {
    const std::string here =
        (tier == Tier::kT0 ? "T0 " : "T1 ") + std::to_string(index) + " of plane " + std::to_string(plane);
    if (!shift_usid(&list, spec_.usid.block, usid(plane, tier, index)))
      return here + ": the list does not begin with it";
    const uint16_t port = routes(plane, tier, index).find(first_usid(list));
    if (port == kNoPort) return here + ": no route to uSID " + std::to_string(first_usid(list));
    if (tier == Tier::kT1) {
      tier = Tier::kT0;
      index = port;
    } else if (port < spec_.nics_per_t0) {
      if (index != spec_.t0_of(dst) || port != dst % spec_.nics_per_t0) return here + ": delivered to another NIC";
      if (!crossed && spec_.t0_of(src) != spec_.t0_of(dst)) return here + ": did not cross its T1";
      return "";
    } else {
      if (port - spec_.nics_per_t0 != t1) return here + ": took another T1";
      tier = Tier::kT1;
      index = port - spec_.nics_per_t0;
      crossed = true;
    }
  }
  return "the walk does not end";
}

}  // namespace mrc::sim
