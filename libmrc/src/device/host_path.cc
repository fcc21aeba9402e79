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

datapath::Offload offload_of(const std::string& word) {
  return word == "on" ? datapath::Offload::kOn : word == "off" ? datapath::Offload::kOff : datapath::Offload::kAuto;
}

datapath::RawIo raw_io(const std::string& word) {
  return word == "xdp" ? datapath::RawIo::kXdp : word == "packet" ? datapath::RawIo::kPacket : datapath::RawIo::kAuto;
}

bool label_evs(const DeviceConfig& config, uint64_t seed, datapath::UdpConfig* out, std::string* error) {
  const auto planes = static_cast<uint32_t>(config.planes.size());
  const std::string& mode = config.settings.ev_mode;
  out->structured_ev = mode != "udp_port";
  if (mode == "structured") {
    Rng rng(seed);
    for (core::EvEntry& ev : out->evs) ev.value = (1 + rng.below(0xFFFF)) << 16;  // the port is known after the opening
  } else if (mode == "srv6") {
    out->srv6 = srv6_plan(config.settings, planes, error);
    if (out->srv6 == nullptr) return false;
    label_paths(planes, &out->evs);
  }
  return true;
}

bool host_config(const DeviceConfig& config, uint64_t seed, datapath::UdpConfig* out, std::string* error) {
  const Settings& s = config.settings;
  for (const PlaneConfig& plane : config.planes) {
    datapath::HostPlane& p = out->planes.emplace_back();
    p.addr = plane.addr;
    if (plane.bind_interface) p.interface = plane.interface;
  }
  out->evs =
      datapath::auto_evs(static_cast<uint32_t>(s.ev_count + s.ev_backups), static_cast<uint32_t>(config.planes.size()));
  out->gso = offload_of(s.gso);
  out->gro = offload_of(s.gro);
  out->rcvbuf = static_cast<uint32_t>(s.rcvbuf);
  out->sndbuf = static_cast<uint32_t>(s.sndbuf);
  out->rx_buffers = static_cast<uint32_t>(s.rx_buffers);
  return label_evs(config, seed, out, error);
}

bool dpdk_config(const DeviceConfig& config, datapath::DpdkConfig* out, std::string* error) {
  const Settings& s = config.settings;
  out->module = s.dpdk_module;
  out->eal = s.dpdk_eal;
  out->ports = datapath::split_list(s.dpdk_ports);
  out->mtu = static_cast<uint32_t>(s.dpdk_mtu);
  out->checksum = s.dpdk_checksum;
  out->poll = Duration::microseconds(s.dpdk_poll_us);
  return datapath::parse_gateways(s.dpdk_gateway, static_cast<uint32_t>(config.planes.size()), &out->gateways, error);
}

// If the switches of a path are chosen, a packet must pass them even if its destination is this host
// [MRC-LOCAL-7].
std::unique_ptr<datapath::HostDatapath> open_udp(const DeviceConfig& config, const datapath::UdpConfig& wanted,
                                                 std::string* error, int* err) {
  std::unique_ptr<datapath::HostDatapath> udp = datapath::UdpDatapath::open(wanted, error, err);
  if (udp == nullptr || config.settings.same_host != "memory" || wanted.srv6 != nullptr) return udp;
  return datapath::LocalDatapath::make(std::move(udp), wanted);
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

}  // namespace

std::unique_ptr<datapath::HostDatapath> open_host_datapath(const DeviceConfig& config, uint64_t seed, uint32_t* slot,
                                                           std::string* error, int* err) {
  datapath::UdpConfig wanted;
  datapath::DpdkConfig dpdk;
  if (!host_config(config, seed, &wanted, error) || !dpdk_config(config, &dpdk, error)) {
    *err = EINVAL;
    return nullptr;
  }
  for (*slot = 0; *slot < kSlots; ++*slot) {  // binding decides the owner of a slot
    set_ports(config, *slot, &wanted);
    std::unique_ptr<datapath::HostDatapath> opened;
    if (config.settings.datapath == "raw")
      opened = datapath::open_raw_datapath(wanted, raw_io(config.settings.raw_io), error, err);
    else if (config.settings.datapath == "dpdk")
      opened = datapath::open_dpdk_datapath(wanted, dpdk, error, err);
    else
      opened = open_udp(config, wanted, error, err);
    if (opened != nullptr) warn_of_other_users(config, wanted.planes.front().addr, *slot);
    if (opened != nullptr || *err != EADDRINUSE) return opened;
  }
  *error = "all " + std::to_string(kSlots) + " process slots are taken; the last: " + *error +
           datapath::taken_by(datapath::holder_of_udp_port(wanted.planes.front().addr, wanted.planes.front().port));
  return nullptr;
}

}  // namespace mrc::device
