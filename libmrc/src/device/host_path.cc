#include "device/host_path.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/rng.h"
#include "datapath/dpdk/dpdk_datapath.h"
#include "datapath/holder.h"
#include "datapath/local/local_datapath.h"
#include "datapath/raw/raw_datapath.h"
#include "datapath/udp/udp_datapath.h"
#include "device/log.h"
#include "device/qpn.h"
#include "device/srv6.h"

namespace mrc::device {

namespace {

Status label_evs(const DeviceConfig& config, uint64_t seed, datapath::UdpConfig* out) {
  const auto planes = static_cast<uint32_t>(config.planes.size());
  const EvMode mode = config.settings.ev_mode;
  out->structured_ev = mode != EvMode::kUdpPort;
  if (mode == EvMode::kStructured) {
    Rng rng(seed);
    for (core::EvEntry& ev : out->evs) ev.value = (1 + rng.below(0xFFFF)) << 16;  // the port is known after the opening
  } else if (mode == EvMode::kSrv6) {
    Result<std::shared_ptr<const datapath::Srv6Plan>> plan = srv6_plan(config.settings, planes);
    if (!plan) return std::move(plan).error();
    out->srv6 = *std::move(plan);
    label_paths(planes, &out->evs);
    out->srv6_encap = config.settings.srv6_encap;
    out->source_ports = datapath::parse_port_range(config.settings.srv6_source_ports).value_or(datapath::PortRange());
  }
  return {};
}

Result<datapath::UdpConfig> host_config(const DeviceConfig& config, uint64_t seed) {
  const Settings& s = config.settings;
  datapath::UdpConfig out;
  for (const PlaneConfig& plane : config.planes) {
    datapath::HostPlane& p = out.planes.emplace_back();
    p.addr = plane.addr;
    if (plane.bind_interface) p.interface = plane.interface;
  }
  out.evs =
      datapath::auto_evs(static_cast<uint32_t>(s.ev_count + s.ev_backups), static_cast<uint32_t>(config.planes.size()));
  out.gso = s.gso;
  out.gro = s.gro;
  out.rcvbuf = static_cast<uint32_t>(s.rcvbuf);
  out.sndbuf = static_cast<uint32_t>(s.sndbuf);
  out.rx_buffers = static_cast<uint32_t>(s.rx_buffers);
  if (Status labelled = label_evs(config, seed, &out); !labelled) return std::move(labelled).error();
  return out;
}

Result<datapath::DpdkConfig> dpdk_config(const DeviceConfig& config) {
  const Settings& s = config.settings;
  datapath::DpdkConfig out;
  out.module = s.dpdk_module;
  out.eal = s.dpdk_eal;
  out.ports = datapath::split_list(s.dpdk_ports);
  out.mtu = static_cast<uint32_t>(s.dpdk_mtu);
  out.checksum = s.dpdk_checksum;
  out.poll = Duration::microseconds(s.dpdk_poll_us);
  auto gateways = datapath::parse_gateways(s.dpdk_gateway, static_cast<uint32_t>(config.planes.size()));
  if (!gateways) return std::move(gateways).error();
  out.gateways = *std::move(gateways);
  return out;
}

// If the switches of a path are chosen, a packet must pass them even if its destination is this host
// [MRC-LOCAL-7].
Result<std::unique_ptr<datapath::HostDatapath>> open_udp(const DeviceConfig& config,
                                                         const datapath::UdpConfig& wanted) {
  Result<std::unique_ptr<datapath::UdpDatapath>> udp = datapath::UdpDatapath::open(wanted);
  if (!udp) return std::move(udp).error();
  if (config.settings.same_host != SameHost::kMemory || wanted.srv6 != nullptr) return *std::move(udp);
  return datapath::LocalDatapath::make(*std::move(udp), wanted);
}

void set_ports(const DeviceConfig& config, uint32_t slot, datapath::HostConfig* out) {
  for (size_t p = 0; p < config.planes.size(); ++p) {
    out->planes[p].port = slot == 0 ? config.planes[p].port : static_cast<uint16_t>(config.planes[p].port_base + slot);
    out->planes[p].second_port = slot == 0 ? static_cast<uint16_t>(config.settings.second_port) : uint16_t{0};
  }
}

constexpr uint32_t kSlotsNamed = 3;  // one line for each; the holder of the first mostly holds the others

// Reports a port held by another user's process, which may not even run this software. Peers that are NICs reach slot 0
// alone, and others may use the wrong one.
void warn_of_other_user(const DeviceConfig& config, const IpAddress& address, uint16_t port, const std::string& what) {
  const auto holder = port != 0 ? datapath::holder_of_udp_port(address, port) : std::nullopt;
  if (holder && holder->uid != ::geteuid())
    log_once(LogLevel::kWarn, "device '" + config.name + "': " + what + ", UDP port " + std::to_string(port) + " of " +
                                  address.to_string() + datapath::taken_by(holder));
}

void warn_of_other_users(const DeviceConfig& config, const IpAddress& address, uint32_t slot) {
  const PlaneConfig& plane = config.planes.front();
  if (slot == 0) warn_of_other_user(config, address, static_cast<uint16_t>(config.settings.second_port), "second port");
  for (uint32_t k = 0; k < std::min(slot, kSlotsNamed); ++k)
    warn_of_other_user(config, address, k == 0 ? plane.port : static_cast<uint16_t>(plane.port_base + k),
                       "process slot " + std::to_string(k));
}

Result<std::unique_ptr<datapath::HostDatapath>> open_chosen(const DeviceConfig& config,
                                                            const datapath::UdpConfig& wanted,
                                                            const datapath::DpdkConfig& dpdk) {
  switch (config.settings.datapath) {
    case DatapathKind::kUdp:
      return open_udp(config, wanted);
    case DatapathKind::kRaw:
      return datapath::open_raw_datapath(wanted, config.settings.raw_io);
    case DatapathKind::kDpdk:
      return datapath::open_dpdk_datapath(wanted, dpdk);
  }
  return Error{EINVAL, "no such datapath"};
}

}  // namespace

Result<HostPath> open_host_datapath(const DeviceConfig& config, uint64_t seed, uint32_t first_slot, uint32_t engines) {
  Result<datapath::UdpConfig> wanted = host_config(config, seed);
  if (!wanted) return std::move(wanted).error();
  wanted->engines = engines;
  Result<datapath::DpdkConfig> dpdk = dpdk_config(config);
  if (!dpdk) return std::move(dpdk).error();
  Error last;
  for (uint32_t i = 0; i < kSlots; ++i) {  // binding decides the owner of a slot
    const uint32_t slot = (first_slot + i) % kSlots;
    set_ports(config, slot, &*wanted);
    Result<std::unique_ptr<datapath::HostDatapath>> opened = open_chosen(config, *wanted, *dpdk);
    if (opened) {
      warn_of_other_users(config, wanted->planes.front().addr, slot);
      return HostPath{*std::move(opened), slot};
    }
    last = std::move(opened).error();
    if (last.code != EADDRINUSE) return last;
  }
  const datapath::HostPlane& first = wanted->planes.front();
  last.text += datapath::taken_by(datapath::holder_of_udp_port(first.addr, first.port));
  return std::move(last).under("all " + std::to_string(kSlots) + " process slots are taken; the last: ");
}

}  // namespace mrc::device
