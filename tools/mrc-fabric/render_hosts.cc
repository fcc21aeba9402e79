#include "render_hosts.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "node_config.h"

namespace mrc::fabric {
namespace {

constexpr uint32_t kMaxEvs = 1024;  // of a device, per peer
constexpr uint32_t kUsidBits = 16;
constexpr uint32_t kBlockBits = 32;

// Largest path MTU of InfiniBand that does not exceed the fabric's payload.
uint32_t path_mtu(uint32_t payload) {
  uint32_t mtu = 256;
  while (mtu * 2 <= std::min(payload, 8192u)) mtu *= 2;
  return mtu;
}

std::string hex(uint16_t usid) {
  char text[8];
  std::snprintf(text, sizeof text, "%x", usid);
  return text;
}

// The fewest prefixes that cover `count` uSIDs from `first` on and no others.
std::vector<std::string> prefixes_of(const FabricSpec& spec, uint32_t first, uint32_t count) {
  std::vector<std::string> all;
  while (count > 0) {
    uint32_t bits = 0;
    while (bits < kUsidBits && (first >> bits & 1) == 0 && 2u << bits <= count) ++bits;
    all.push_back(usid_address(spec, static_cast<uint16_t>(first)) + "/" +
                  std::to_string(kBlockBits + kUsidBits - bits));
    first += 1u << bits;
    count -= 1u << bits;
  }
  return all;
}

// One plane of a host: the paths to the hosts below each T0, and back to itself.
class PlanePaths {
 public:
  PlanePaths(const FabricPlan& plan, uint32_t plane, uint32_t host) : plan_(plan), plane_(plane), host_(host) {}

  void write_paths(std::ostream& out) const {
    const FabricSpec& f = plan_.spec();
    const uint32_t own = f.t0_of(host_);
    for (uint32_t t0 = 0; t0 < f.t0; ++t0)
      for (const std::string& prefix : prefixes_of(f, plan_.nic_usid(plane_, t0 * f.nics_per_t0), f.nics_per_t0)) {
        if (t0 == own) {
          out << "  " << prefix << " direct\n";
          continue;
        }
        for (uint32_t t1 = 0; t1 < f.t1; ++t1) out << "  " << prefix << " via " << via(t1, t0) << "\n";
      }
  }

  // Over every T1, so that the result for the loops holds for the paths.
  void write_loops(std::ostream& out) const {
    const FabricSpec& f = plan_.spec();
    for (uint32_t t1 = 0; t1 < f.t1; ++t1)
      out << "  " << usid_prefix(f, plan_.nic_usid(plane_, host_)) << " via " << via(t1, f.t0_of(host_)) << "\n";
  }

 private:
  std::string via(uint32_t t1, uint32_t far_t0) const {
    const auto usid = [&](sim::Tier tier, uint32_t index) { return hex(plan_.usid(plane_, tier, index)); };
    return usid(sim::Tier::kT0, plan_.spec().t0_of(host_)) + ":" + usid(sim::Tier::kT1, t1) + ":" +
           usid(sim::Tier::kT0, far_t0);
  }

  const FabricPlan& plan_;
  uint32_t plane_, host_;
};

void write_srv6(const FabricPlan& plan, uint32_t host, std::ostream& out) {
  const uint32_t planes = plan.spec().planes;
  out << "ev_mode: srv6\nsrv6_paths: |\n";
  for (uint32_t p = 0; p < planes; ++p) PlanePaths(plan, p, host).write_paths(out);
  out << "srv6_loop: |\n";
  for (uint32_t p = 0; p < planes; ++p) PlanePaths(plan, p, host).write_loops(out);
  if (hosts_encapsulate(plan.spec()))
    out << "srv6_source_ports: " << kSourcePorts.first << "-" << kSourcePorts.last << "\n";
}

void write_device(const FabricPlan& plan, uint32_t host, bool srv6, std::ostream& out) {
  const FabricSpec& f = plan.spec();
  out << "devices:\n  - name: mrc0\n    planes:\n";
  for (uint32_t p = 0; p < f.planes; ++p)
    out << "      - {interface: p" << p << ", address: \""
        << (srv6 ? usid_address(f, plan.nic_usid(p, host)) : plan.nic_address(p, host).to_string()) << "\"}\n";
  out << "    peers:\n      template: \"";
  if (!srv6) {
    // {host}: the same 16 bits of the peer's GID; the second group counts planes from 1, the third is the T0.
    out << "fd00:{plane}:{host}::{host}\"\n";
    return;
  }
  const auto& block = f.usid.block.bytes;
  const std::string shift = f.planes == 1 ? "" : "+" + std::to_string(1u << f.usid.plane_shift);
  out << hex(static_cast<uint16_t>(block[0] << 8 | block[1])) << ":"
      << hex(static_cast<uint16_t>(block[2] << 8 | block[3])) << ":{host" << shift << "}::\"\n";
}

}  // namespace

// The uSID that is left of a list when it arrives must be the host's own, so that it is its address as well.
bool hosts_name_paths(const FabricSpec& spec) {
  return spec.sw.forwarding == sim::Forwarding::kSrv6 && spec.nic_usids_are_unique();
}

std::string render_host(const Topology& topology, uint32_t host) {
  const FabricPlan& plan = topology.plan();
  const FabricSpec& f = plan.spec();
  const bool srv6 = hosts_name_paths(f);
  std::ostringstream out;
  out << "# Host h" << host << " of fabric " << f.name << ".\n"
      << "line_rate_gbps: " << f.line_rate() * f.lab.rate_scale / 1e9 << "\n"
      << "mtu: " << path_mtu(f.mtu) << "\n"
      << "ev_count: " << std::min(f.ev.count, kMaxEvs) << "\n"
      << "ev_backups: " << std::min(f.ev.backups, kMaxEvs) << "\n";
  if (f.lab.mrc_switch_t0 && f.sw.trimming) out << "trimming: true\n";  // where incast happens they trim
  if (srv6) write_srv6(plan, host, out);
  write_device(plan, host, srv6, out);
  return out.str();
}

std::string render_names(const Topology& topology) {
  std::string text = "127.0.0.1 localhost\n::1 localhost\n";
  for (uint32_t n = 0; n < topology.spec().nics(); ++n) text += management_address(n) + " h" + std::to_string(n) + "\n";
  return text;
}

}  // namespace mrc::fabric
