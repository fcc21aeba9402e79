#include "node_config.h"

#include <algorithm>
#include <cstring>

namespace mrc::fabric {
namespace {

using sim::put16;

constexpr const char* kUpperEnd = "fe80::1";
constexpr const char* kLowerEnd = "fe80::2";
constexpr uint64_t kMaxEncapRoutes = 4096;  // of a host; the largest labs would have a million of them together

IpAddress usid_list(const FabricSpec& spec, uint16_t first, uint16_t second = 0) {
  IpAddress a;
  std::memcpy(a.bytes.data(), spec.usid.block.bytes.data(), 4);
  put16(&a, 4, first);
  put16(&a, 6, second);
  return a;
}

std::string block_prefix(const FabricSpec& spec) {
  return usid_list(spec, 0).to_string() + "/32";
}

// Every list that begins with a uSID of the plane.
std::string plane_usids_prefix(const FabricSpec& spec, uint32_t plane) {
  return usid_list(spec, static_cast<uint16_t>(plane << spec.usid.plane_shift)).to_string() + "/" +
         std::to_string(48 - spec.usid.plane_shift);
}

// fd00:PLANE:T0::/48, all NICs below a T0 on a plane.
std::string nics_prefix(const FabricPlan& plan, uint32_t plane, uint32_t t0) {
  IpAddress a = plan.nic_address(plane, t0 * plan.spec().nics_per_t0);
  std::fill(a.bytes.begin() + 6, a.bytes.end(), uint8_t{0});
  return a.to_string() + "/48";
}

std::string plane_prefix(const FabricPlan& plan, uint32_t plane) {
  IpAddress a = plan.nic_address(plane, 0);
  std::fill(a.bytes.begin() + 4, a.bytes.end(), uint8_t{0});
  return a.to_string() + "/32";
}

RouteConfig via(std::string prefix, const std::string& interface, const char* next, std::string source = "") {
  return {RouteKind::kVia, std::move(prefix), {{interface, next}}, std::move(source)};
}
RouteConfig for_purpose(std::string purpose, RouteConfig route) {
  route.purpose = std::move(purpose);
  return route;
}

std::string t1_port(uint32_t t1) {
  return "t1-" + std::to_string(t1);
}
std::string host_port(uint32_t nic) {
  return "h" + std::to_string(nic);
}

// The kernel's queue in front of a slow port: 5 ms absorb what hosts of a busy machine send at once.
int64_t queue_of(const FabricSpec& spec, double rate) {
  if (spec.lab.queue != 0) return spec.lab.queue;
  return std::max<int64_t>(512 << 10, static_cast<int64_t>(rate / 8 * 0.005));
}

void add_interfaces(const Topology& topology, NodeConfig* c) {
  const FabricSpec& f = topology.spec();
  for (const Link* l : topology.links_of(c->id)) {
    const Port& own = Topology::end_at(*l, c->id);
    const Port& peer = Topology::other_end(*l, c->id);
    const bool upper = &own == &l->upper;
    InterfaceConfig i;
    i.name = own.name;
    i.mac = own.mac;
    i.mtu = f.lab.link_mtu;
    i.rate = l->rate * f.lab.rate_scale;
    i.queue = queue_of(f, i.rate);
    i.addresses = {{std::string(upper ? kUpperEnd : kLowerEnd) + "/64"}};
    i.peer_address = upper ? kLowerEnd : kUpperEnd;
    i.peer_mac = peer.mac;
    i.peer = port_name(peer);
    c->interfaces.push_back(std::move(i));
  }
}

// The list that `path` is, with one more uSID, which makes the receiving host decapsulate.
std::string decapsulated_path(const FabricPlan& plan, uint32_t plane, uint32_t source, uint32_t t1, uint32_t target) {
  IpAddress list = plan.path(plane, source, t1, target);
  put16(&list, 12, kDecapUsid);
  return list.to_string();
}

// Hosts below the own T0 have no route here, so that main sends to them directly.
void add_encapsulation(const FabricPlan& plan, uint32_t plane, NodeConfig* c) {
  const FabricSpec& f = plan.spec();
  const std::string interface = "p" + std::to_string(plane);
  for (uint32_t t1 = 0; t1 < f.t1; ++t1)
    for (uint32_t target = 0; target < f.nics(); ++target) {
      if (f.t0_of(target) == f.t0_of(c->id.index)) continue;
      RouteConfig r{RouteKind::kEncap, usid_address(f, plan.nic_usid(plane, target)) + "/128", {{interface, ""}}, ""};
      r.segments = decapsulated_path(plan, plane, c->id.index, t1, target);
      r.table = kFirstTable + t1;
      c->routes.push_back(std::move(r));
    }
}

void configure_host(const Topology& topology, NodeConfig* c) {
  const FabricPlan& plan = topology.plan();
  const FabricSpec& f = plan.spec();
  const uint32_t nic = c->id.index;
  for (InterfaceConfig& i : c->interfaces) {
    if (i.name == "oob") {
      i.addresses.push_back({management_address(nic) + "/128"});
      c->routes.push_back(via("fd00::/64", i.name, kUpperEnd, management_address(nic)));
      continue;
    }
    const uint32_t plane = static_cast<uint32_t>(std::stoul(i.name.substr(1)));
    const uint16_t own = plan.nic_usid(plane, nic);
    const std::string address = plan.nic_address(plane, nic).to_string();
    i.addresses.push_back({address + "/128"});
    i.addresses.push_back({usid_address(f, own) + "/128", false});
    c->routes.push_back(via(plane_prefix(plan, plane), i.name, kUpperEnd, address));
    // The first uSID of a list determines its plane. It is the own T0's, or that of a host below this T0.
    c->routes.push_back(via(plane_usids_prefix(f, plane), i.name, kUpperEnd, address));
    c->routes.push_back({RouteKind::kDecap, usid_list(f, own, kDecapUsid).to_string() + "/64", {{i.name, ""}}, ""});
    if (hosts_encapsulate(f)) add_encapsulation(plan, plane, c);
  }
  for (uint32_t t1 = 0; hosts_encapsulate(f) && t1 < f.t1; ++t1)
    c->rules.push_back({source_ports_of(f, t1), kFirstTable + t1});
}

void configure_t0(const Topology& topology, NodeConfig* c) {
  const FabricPlan& plan = topology.plan();
  const FabricSpec& f = plan.spec();
  const uint32_t plane = c->id.plane, own = c->id.index;
  for (uint32_t k = 0; k < f.nics_per_t0; ++k) {
    const uint32_t nic = own * f.nics_per_t0 + k;
    c->routes.push_back(for_purpose("uSID of host h" + std::to_string(nic),
                                    via(usid_prefix(f, plan.nic_usid(plane, nic)), host_port(nic), kLowerEnd)));
  }
  for (uint32_t j = 0; j < f.t1; ++j)
    c->routes.push_back(for_purpose("uSID of T1 number " + std::to_string(j),
                                    via(usid_prefix(f, plan.usid(plane, sim::Tier::kT1, j)), t1_port(j), kUpperEnd)));
  for (uint32_t k = 0; k < f.nics_per_t0; ++k) {
    const uint32_t nic = own * f.nics_per_t0 + k;
    c->routes.push_back(for_purpose("plain address of host h" + std::to_string(nic),
                                    via(plan.nic_address(plane, nic).to_string() + "/128", host_port(nic), kLowerEnd)));
  }
  // Plain addresses: with SRv6 one fixed T1 per destination T0, with ECMP all of them by hash.
  for (uint32_t i = 0; i < f.t0; ++i) {
    if (i == own) continue;
    RouteConfig r{RouteKind::kVia, nics_prefix(plan, plane, i), {}, ""};
    r.purpose = "plain addresses of the hosts below T0 number " + std::to_string(i) +
                (c->hashes ? ": over every T1, by hash" : ": over one T1");
    for (uint32_t j = 0; j < f.t1; ++j)
      if (c->hashes || j == i % f.t1) r.hops.push_back({t1_port(j), kUpperEnd});
    c->routes.push_back(std::move(r));
  }
}

void configure_t1(const Topology& topology, NodeConfig* c) {
  const FabricPlan& plan = topology.plan();
  const FabricSpec& f = plan.spec();
  const uint32_t plane = c->id.plane;
  const auto port = [](uint32_t t0) { return "t0-" + std::to_string(t0); };
  for (uint32_t i = 0; i < f.t0; ++i)
    c->routes.push_back(for_purpose("uSID of T0 number " + std::to_string(i),
                                    via(usid_prefix(f, plan.usid(plane, sim::Tier::kT0, i)), port(i), kLowerEnd)));
  for (uint32_t i = 0; i < f.t0; ++i)
    c->routes.push_back(for_purpose("plain addresses of the hosts below T0 number " + std::to_string(i),
                                    via(nics_prefix(plan, plane, i), port(i), kLowerEnd)));
}

}  // namespace

bool hosts_encapsulate(const FabricSpec& spec) {
  const uint64_t routes = uint64_t{spec.planes} * spec.t1 * (spec.nics() - spec.nics_per_t0);
  return spec.sw.forwarding == sim::Forwarding::kSrv6 && spec.nic_usids_are_unique() && routes > 0 &&
         routes <= kMaxEncapRoutes;
}

PortSpan source_ports_of(const FabricSpec& spec, uint32_t t1) {
  const uint32_t width = (kSourcePorts.last - kSourcePorts.first + 1) / spec.t1;
  return {kSourcePorts.first + t1 * width, kSourcePorts.first + (t1 + 1) * width - 1};
}

std::string usid_address(const FabricSpec& spec, uint16_t usid) {
  return usid_list(spec, usid).to_string();
}

std::string usid_prefix(const FabricSpec& spec, uint16_t usid) {
  return usid_address(spec, usid) + "/48";
}

std::string management_address(uint32_t host) {
  IpAddress a;
  a.bytes[0] = 0xFD;
  put16(&a, 12, (host + 1) >> 16);
  put16(&a, 14, host + 1);
  return a.to_string();
}

NodeConfig node_config(const Topology& topology, const NodeId& node) {
  const FabricPlan& plan = topology.plan();
  const FabricSpec& f = plan.spec();
  if (f.sw.forwarding == sim::Forwarding::kStev)
    throw UsageError("key 'forwarding': value is 'stev', allowed here: srv6, ecmp; routers do not read structured EVs");
  NodeConfig c;
  c.id = node;
  c.name = node_name(node);
  c.forwards = node.role != Role::kHost;
  c.hashes = f.sw.forwarding == sim::Forwarding::kEcmp;
  add_interfaces(topology, &c);
  if (node.role == Role::kHost) {
    configure_host(topology, &c);
    return c;
  }
  if (node.role == Role::kManagement) {
    for (uint32_t n = 0; n < f.nics(); ++n)
      c.routes.push_back(via(management_address(n) + "/128", host_port(n), kLowerEnd));
    return c;
  }
  const bool t0 = node.role == Role::kT0;
  c.usid = plan.usid(node.plane, t0 ? sim::Tier::kT0 : sim::Tier::kT1, node.index);
  c.loopback = usid_address(f, c.usid);
  c.routes.push_back({RouteKind::kUn, usid_prefix(f, c.usid), {}, ""});
  if (t0) {
    configure_t0(topology, &c);
  } else {
    configure_t1(topology, &c);
  }
  // Packets without a table entry are silently dropped, as by a switch's chip.
  c.routes.push_back({RouteKind::kBlackhole, block_prefix(f), {}, "", "other uSIDs: dropped without an answer"});
  c.routes.push_back(
      {RouteKind::kBlackhole, plane_prefix(plan, node.plane), {}, "", "other addresses: dropped without an answer"});
  return c;
}

}  // namespace mrc::fabric
