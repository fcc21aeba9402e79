#include "sim/helper/network.h"

namespace mrc::sim {

QueueConfig Network::queue_config(bool last_hop) const {
  const SwitchSpec& s = spec().sw;
  const double bdp = spec().plane_bdp();
  const bool pfc = transport_.pfc.enabled;
  const core::DscpConfig& dscp = transport_.mrc.endpoint.dscp;
  QueueConfig q;
  q.last_hop = last_hop;
  q.trimming = s.trimming && transport_.kind == TransportKind::kMrc;
  q.trim_random = s.trim_random;
  q.trim_bytes = s.trim_bytes;
  q.drop_limit = s.drop_queue.bytes(bdp);
  q.data_limit = q.trimming ? (last_hop ? s.queue_last_hop : s.queue).bytes(bdp) : q.drop_limit;
  if (pfc) q.data_limit = q.drop_limit = INT64_MAX;  // PFC bounds the queue by its ingress counts
  q.trimmed_limit = s.trimmed_queue.bytes(bdp);
  q.control_limit = s.control_queue.bytes(bdp);
  q.trimmed_share = s.trimmed_share;
  // RoCE needs marks on every hop; MRC's last hop has none unless the fabric enables them.
  if (!last_hop || s.ecn_last_hop || transport_.kind == TransportKind::kRoce) {
    q.ecn_min = s.ecn_min.bytes(bdp);
    q.ecn_max = s.ecn_max.bytes(bdp);
    q.ecn_share = s.ecn_share;
  }
  q.trimmed_dscp = dscp.trimmed;
  q.trimmed_lasthop_dscp = dscp.trimmed_lasthop;
  return q;
}

Switch& Network::sw(uint32_t plane, Tier tier, uint32_t index) {
  return *switches_[plane * (spec().t0 + spec().t1) + (tier == Tier::kT0 ? index : spec().t0 + index)];
}

void Network::each_switch(const std::function<void(Switch&)>& f) {
  for (auto& s : switches_) f(*s);
}

void Network::cable(Link link, Receiver* high, uint16_t high_port, Receiver* low, uint16_t low_port) {
  const Ps latency = spec().sw.latency;
  link.up->connect(high, high_port, latency);
  link.down->connect(low, low_port, link.kind == Link::Kind::kNic ? 0 : latency);
  links_.push_back(link);
}

Network::Network(const FabricSpec& fabric, const TransportConfig& transport, uint64_t seed, MrcNic::Tracer tracer)
    : plan_(fabric), transport_(transport), rng_(seed * 2654435761u + 17), tracer_(std::move(tracer)) {
  const FabricSpec& f = spec();
  for (uint32_t plane = 0; plane < f.planes; ++plane)
    for (uint32_t i = 0; i < f.t0 + f.t1; ++i) {
      const Tier tier = i < f.t0 ? Tier::kT0 : Tier::kT1;
      const uint32_t index = i < f.t0 ? i : i - f.t0;
      auto s = std::make_unique<Switch>(&pool_, &plan_, plane, tier, index, rng_.next(), transport_.pfc);
      for (uint32_t port = 0; port < plan_.port_count(tier); ++port) {
        const bool to_nic = tier == Tier::kT0 && port < f.nics_per_t0;
        const LinkSpec& l = to_nic ? f.nic_link : f.spine_link;
        s->add_port(std::make_unique<Port>(&pool_, &rng_, l.rate, l.delay, queue_config(to_nic)));
      }
      switches_.push_back(std::move(s));
    }
  for (uint32_t n = 0; n < f.nics(); ++n) {
    if (transport_.kind == TransportKind::kMrc)
      nics_.push_back(std::make_unique<MrcNic>(n, &pool_, &plan_, transport_.mrc, seed, &nics_, &tracer_));
    else
      nics_.push_back(std::make_unique<RoceNic>(n, &pool_, &plan_, transport_.roce, seed, &nics_));
    for (uint32_t plane = 0; plane < f.planes; ++plane)
      nics_.back()->add_port(std::make_unique<Port>(&pool_, &rng_, f.nic_link.rate, f.nic_link.delay, QueueConfig{}));
  }
  for (uint32_t plane = 0; plane < f.planes; ++plane)
    for (uint32_t n = 0; n < f.nics(); ++n) {
      Switch& t0 = sw(plane, Tier::kT0, f.t0_of(n));
      const auto port = static_cast<uint16_t>(n % f.nics_per_t0);
      NicBase& host = *nics_[n];
      Port* up = &host.port(static_cast<uint16_t>(plane));
      cable({Link::Kind::kNic, plane, n, f.t0_of(n), up, &t0.port(port)}, &t0, port, &host,
            static_cast<uint16_t>(plane));
      t0.set_upstream(port, up, f.nic_link.delay);
    }
  for (uint32_t plane = 0; plane < f.planes; ++plane)
    for (uint32_t i = 0; i < f.t0; ++i)
      for (uint32_t k = 0; k < f.t1; ++k) {
        Switch& t0 = sw(plane, Tier::kT0, i);
        Switch& t1 = sw(plane, Tier::kT1, k);
        const auto t0_port = static_cast<uint16_t>(f.nics_per_t0 + k), t1_port = static_cast<uint16_t>(i);
        Port* up = &t0.port(t0_port);
        Port* down = &t1.port(t1_port);
        cable({Link::Kind::kSpine, plane, i, k, up, down}, &t1, t1_port, &t0, t0_port);
        t0.set_upstream(t0_port, down, f.spine_link.delay);
        t1.set_upstream(t1_port, up, f.spine_link.delay);
      }
}

Network::~Network() = default;

void Network::set_link_up(Link& link, bool up) {
  if (link.up->up() == up && link.down->up() == up) return;
  link.up->set_up(up);
  link.down->set_up(up);
  if (link.kind == Link::Kind::kNic) nics_[link.low]->on_carrier(static_cast<uint16_t>(link.plane), up);
}

}  // namespace mrc::sim
