#include "switch.h"

#include <algorithm>

#include "icmp.h"

namespace mrc::softswitch {
namespace {

// Maximum lag of the line behind the sender. Senders are shaped to the line's rate; this holds those in check that
// are not, so that what they send too much waits in a queue that has a limit.
constexpr Duration kMaxLag = Duration::milliseconds(20);

double ns_per_byte(double bps) {
  return bps > 0 ? 8e9 / bps : 0;
}

}  // namespace

Switch::Switch(const SwitchConfig& config, FramePool* pool) : config_(config), pool_(pool), rng_(config.seed) {
  forwarding_.set_salt(config.seed);
  ingress_.resize(config.ports.size());
  for (size_t i = 0; i < config.ports.size(); ++i) {
    const PortConfig& p = config.ports[i];
    egress_.push_back(std::make_unique<EgressPort>(pool, &rng_, p.rate, p.queue));
    ingress_[i].ns_per_byte = ns_per_byte(p.rate);
  }
}

void Switch::receive(Frame* f, uint16_t port, Instant at) {
  Ingress& in = ingress_[port];
  if (f->bytes > config_.ports[port].mtu + kEthernetHeader || !parse(f, config_.dscp)) {
    ++counters_.malformed;
    pool_->release(f);
    return;
  }
  ++in.counters.packets;
  in.counters.bytes += f->bytes;
  const Instant busy = in.last + Duration::nanoseconds(static_cast<int64_t>(f->bytes * in.ns_per_byte + 0.5));
  in.last = std::max(in.last, std::min(std::max(at, busy), at + kMaxLag));
  f->arrived = in.last;
  in.line.push(f);
}

Instant Switch::next_event() const {
  Instant next = Instant::never();
  for (const Ingress& in : ingress_)
    if (!in.line.empty()) next = std::min(next, in.line.front()->arrived);
  for (const auto& port : egress_) next = std::min(next, port->line_free());
  return next;
}

void Switch::run(Instant until, std::vector<Frame*>* out) {
  for (;;) {
    const Instant now = next_event();
    if (now > until || now == Instant::never()) return;
    // Departures free room for arrivals at the same instant.
    bool left = false;
    for (size_t i = 0; i < egress_.size(); ++i) {
      if (egress_[i]->line_free() > now) continue;
      Frame* f = egress_[i]->finish();
      f->port = static_cast<uint16_t>(i);
      out->push_back(f);
      left = true;
    }
    if (left) continue;
    for (size_t i = 0; i < ingress_.size(); ++i) {
      if (ingress_[i].line.empty() || ingress_[i].line.front()->arrived > now) continue;
      Frame* f = ingress_[i].line.pop();
      f->port = static_cast<uint16_t>(i);
      forward(f, now);
    }
  }
}

void Switch::forward(Frame* f, Instant now) {
  const Decision d = forwarding_.decide(f);
  uint64_t* refused = nullptr;
  switch (d.verdict) {
    case Verdict::kForward:
      if (f->bytes <= config_.ports[d.port].mtu + kEthernetHeader) {
        set_macs(f, config_.ports[d.port].peer_mac.data(), config_.ports[d.port].own_mac.data());
        egress_[d.port]->enqueue(f, now);
        return;
      }
      refused = &counters_.too_big;
      break;
    case Verdict::kLocal:
      refused = &counters_.local;
      break;
    case Verdict::kNoRoute:
      refused = &counters_.no_route;
      break;
    case Verdict::kLinkDown:
      egress_[d.port]->enqueue(f, now);  // which counts it as lost there
      return;
    case Verdict::kHopLimit:
      ++counters_.hop_limit;
      send_time_exceeded(f, now);
      return;
  }
  ++*refused;
  pool_->release(f);
}

// The frame becomes the answer, and is forwarded like any other packet to its source.
void Switch::send_time_exceeded(Frame* f, Instant now) {
  if (!make_time_exceeded(f, config_.address, pool_->buffer_bytes())) {
    pool_->release(f);
    return;
  }
  parse(f, config_.dscp);
  forward(f, now);
}

void Switch::set_up(uint16_t port, bool up) {
  forwarding_.set_up(port, up);
  egress_[port]->set_up(up);
  if (up) return;
  while (Frame* f = ingress_[port].line.pop()) pool_->release(f);
}

void Switch::set_rate(uint16_t port, double bps) {
  egress_[port]->set_rate(bps);
  ingress_[port].ns_per_byte = ns_per_byte(bps);
}

}  // namespace mrc::softswitch
