#include "sim/model/switch.h"

#include <algorithm>
#include <cstring>

#include "invariant.h"

namespace mrc::sim {
namespace {

uint64_t mix(uint64_t h) {
  h ^= h >> 31;
  h *= 0x7FB5D329728EA185ull;
  h ^= h >> 27;
  h *= 0x81DADEF4BC2DD44Dull;
  return h ^ (h >> 33);
}

uint64_t hash_flow(const wire::Flow& f, uint64_t salt) {
  uint64_t words[4];
  std::memcpy(words, f.src.bytes.data(), 16);
  std::memcpy(words + 2, f.dst.bytes.data(), 16);
  uint64_t h = salt;
  for (const uint64_t w : words) h = mix(h ^ w);
  return mix(h ^ (static_cast<uint64_t>(f.src_port) << 32 | static_cast<uint64_t>(f.dst_port) << 16) ^ f.flow_label);
}

}  // namespace

Switch::Switch(PacketPool* pool, const FabricPlan* plan, uint32_t plane, Tier tier, uint32_t index, uint64_t salt,
               const PfcConfig& pfc)
    : pool_(pool),
      plan_(plan),
      plane_(plane),
      tier_(tier),
      index_(index),
      salt_(salt),
      pfc_(pfc),
      latency_(plan->spec().sw.latency),
      block_(plan->spec().usid.block),
      own_usid_(plan->usid(plane, tier, index)) {
  if (plan->spec().sw.forwarding == Forwarding::kSrv6) routes_ = plan->routes(plane, tier, index);
}

void Switch::add_port(std::unique_ptr<Port> port) {
  if (pfc_.enabled) port->set_owner(this, static_cast<uint16_t>(ports_.size()));
  ports_.push_back(std::move(port));
  ingress_.emplace_back();
}

void Switch::set_upstream(uint16_t i, Port* upstream, Ps delay) {
  ingress_[i].upstream = upstream;
  ingress_[i].delay = delay;
}

uint16_t Switch::route_by_address(const Packet& p) const {
  const auto to = plan_->nic_of(p.flow.dst);
  if (!to || to->plane != plane_) return kNoPort;
  const FabricSpec& spec = plan_->spec();
  const uint32_t t0 = spec.t0_of(to->nic);
  if (tier_ == Tier::kT1) return static_cast<uint16_t>(t0);
  if (t0 == index_) return static_cast<uint16_t>(to->nic % spec.nics_per_t0);
  const uint32_t uplink = spec.sw.forwarding == Forwarding::kStev
                              ? plan_->t1_of(p.flow.src_port)
                              : static_cast<uint32_t>(hash_flow(p.flow, salt_) % spec.t1);
  return static_cast<uint16_t>(spec.nics_per_t0 + uplink);
}

uint16_t Switch::route(Packet* p) {
  if (plan_->spec().sw.forwarding != Forwarding::kSrv6) return route_by_address(*p);
  if (!shift_usid(&p->path, block_, own_usid_)) return kNoPort;
  return routes_.find(first_usid(p->path));
}

void Switch::receive(Packet* p, uint16_t ingress) {
  if (stuck_) {
    ++counters_.stuck;
    pool_->give(p);
    return;
  }
  p->ingress = ingress;
  if (pfc_.enabled && p->tc == TrafficClass::kData) {
    Ingress& in = ingress_[ingress];
    in.waiting += p->bytes;
    if (!in.paused && in.waiting > pfc_.xoff) pause(ingress, true);
    check(in);
  }
  const uint16_t out = route(p);
  if (out >= ports_.size()) {
    ++counters_.unroutable;
    on_left(*p);
    pool_->give(p);
    return;
  }
  ports_[out]->enqueue(p);
}

void Switch::on_left(const Packet& p) {
  if (!pfc_.enabled || p.tc != TrafficClass::kData) return;
  Ingress& in = ingress_[p.ingress];
  in.waiting -= p.bytes;
  if (in.paused && in.waiting <= pfc_.xon) pause(p.ingress, false);
  check(in);
}

void Switch::check(const Ingress& in) const {
  MRC_INVARIANT(in.waiting >= 0);
  MRC_INVARIANT(in.paused ? in.waiting > pfc_.xon : in.waiting <= pfc_.xoff);
}

// The pause frame takes as long as the link's propagation; its own few bytes are neglected.
void Switch::pause(uint16_t ingress, bool on) {
  Ingress& in = ingress_[ingress];
  in.paused = on;
  if (on) ++counters_.pauses;
  if (in.upstream == nullptr) return;
  Port* upstream = in.upstream;
  // What fills the queue is counted `latency_` late.
  schedule_in(on ? std::max<Ps>(0, in.delay - latency_) : in.delay, [upstream, on] { upstream->set_paused(on); });
}

}  // namespace mrc::sim
