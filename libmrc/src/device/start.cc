// Starting a device: the engine's configuration from the settings, the sockets in the first free process slot, fault
// injection around them, and the limits of this host to raise.
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "core/congestion/registry.h"
#include "datapath/fault.h"
#include "device/device.h"
#include "device/fault_scope.h"
#include "device/host_path.h"
#include "device/interfaces.h"
#include "device/log.h"
#include "device/seed.h"

namespace mrc::device {

namespace {

constexpr uint32_t kPacketOverhead = 44;    // BTH, METH, TSETH, RETH, ImmDt and ICRC of a full packet
constexpr double kAssumedLineRate = 100e9;  // bit/s, until measured [MRC-NSCC-26]
constexpr Duration kAssumedBaseRtt = Duration::microseconds(50);

Duration from_us(double us) {
  return Duration::nanoseconds(static_cast<int64_t>(us * 1000));
}

core::CongestionConfig congestion_config(const DeviceConfig& config) {
  const Settings& s = config.settings;
  core::CongestionConfig c;
  c.algorithm = core::find_congestion_algorithm(s.congestion_control);
  c.measure_rate = config.line_rate_gbps == 0;
  c.line_rate_bps = c.measure_rate ? kAssumedLineRate : config.line_rate_gbps * 1e9;
  c.measure_rtt = s.base_rtt_us == 0;
  c.base_rtt = c.measure_rtt ? kAssumedBaseRtt : from_us(s.base_rtt_us);
  c.host_jitter = from_us(s.host_jitter_us);
  (void)core::set_congestion_parameters(s.congestion_parameters, &c);  // checked when the configuration was read
  return c;
}

// The largest MTU of the standard ones that every plane carries in one packet, at most what the settings offer.
uint32_t fitting_mtu(const DeviceConfig& config, const datapath::HostDatapath& host, std::vector<std::string>* advice) {
  const auto wanted = bytes_of(config.settings.mtu);
  uint32_t mtu = wanted;
  for (uint32_t p = 0; p < config.planes.size(); ++p) {
    const uint32_t payload = host.plane_payload(plane_at(p));
    if (payload == 0 || payload >= wanted + kPacketOverhead) continue;
    while (mtu > 256 && payload < mtu + kPacketOverhead) mtu /= 2;
    advice->push_back("plane " + std::to_string(p + 1) + " carries packets of " + std::to_string(payload) +
                      " bytes, so the path MTU is at most " + std::to_string(mtu) + " instead of " +
                      std::to_string(wanted) + ": raise the MTU of its interface by " +
                      std::to_string(wanted + kPacketOverhead - payload));
  }
  return mtu;
}

// The non-default settings as a JSON object of texts, so that a trace is self-contained.
std::string changed_settings(const Settings& s) {
  const Settings usual;
  nlohmann::json changed = nlohmann::json::object();
  for (const Setting& setting : setting_table())
    if (setting.show(s) != setting.show(usual)) changed[setting.name] = setting.show(s);
  return changed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

core::EndpointConfig endpoint_config(const DeviceConfig& config, const datapath::Datapath& datapath,
                                     const PerEv<core::EvEntry>& evs, uint8_t slot, uint64_t seed) {
  const Settings& s = config.settings;
  core::EndpointConfig e;
  e.seed = seed;
  for (const PlaneConfig& plane : config.planes) {
    e.planes.push_back({plane.addr, slot == 0 ? plane.port : static_cast<uint16_t>(plane.port_base + slot)});
    e.slot_ports.push_back({plane.port, plane.port_base});
  }
  e.evs = evs;
  e.ev_active = static_cast<uint32_t>(std::min<size_t>(static_cast<size_t>(s.ev_count), evs.size()));
  e.ev_min_active = static_cast<uint32_t>(s.ev_min_active);
  e.dscp.no_trim = static_cast<uint8_t>(s.dscp_no_trim);
  e.dscp.trimmable = static_cast<uint8_t>(s.dscp_trimmable);
  e.dscp.trimmable_retx = static_cast<uint8_t>(s.dscp_trimmable_retx);
  e.dscp.trimmed = static_cast<uint8_t>(s.dscp_trimmed);
  e.dscp.trimmed_lasthop = static_cast<uint8_t>(s.dscp_trimmed_lasthop);
  e.dscp.control = static_cast<uint8_t>(s.dscp_control);
  e.trimming = s.trimming;
  e.icrc = s.icrc;
  e.timestamps = s.timestamps;
  e.max_segments = std::min(static_cast<uint32_t>(s.burst_packets), datapath.max_segments());
  e.max_burst_bytes = std::min(static_cast<uint32_t>(s.burst_bytes), datapath.max_burst_bytes());
  e.sack_bytes = static_cast<uint32_t>(s.sack_bytes);
  e.ack_delay = Duration::microseconds(s.ack_delay_us);
  e.reorder_floor = Duration::microseconds(s.reorder_floor_us);
  e.probe_floor = Duration::microseconds(s.probe_floor_us);
  e.ev_probe_interval = Duration::milliseconds(s.ev_probe_interval_ms);
  e.receive_room = uint64_t{datapath.receive_room()} * config.planes.size();  // of a peer like this host
  e.max_groups = std::min(e.max_groups, datapath.max_groups());
  e.hold_without_recv_wqe = s.hold_without_recv;
  e.placement = s.placement;
  e.congestion = congestion_config(config);
  e.slot = slot;
  // The GIDs that receivers of datagrams see [MRC-UD-6]: the table's IPv4 address if there is one, as most programs use
  // it.
  const auto v4 = std::find_if(config.gids.begin(), config.gids.end(), [](const IpAddress& g) { return g.is_v4(); });
  if (!config.gids.empty()) e.gid = v4 != config.gids.end() ? *v4 : config.gids[0];
  for (const PlaneConfig& plane : config.planes)
    if (!plane.addr.is_zero()) e.gids_of_addresses.push_back({plane.addr, e.gid});
  for (const PeerConfig& peer : config.peers)
    for (const IpAddress& addr : peer.planes) e.gids_of_addresses.push_back({addr, peer.gid});
  if (!config.peer_template.empty())
    e.gid_rule = [by = config.peer_template](const IpAddress& addr, PlaneId plane) {
      return by.host_at(addr, plane.value());
    };
  return e;
}

}  // namespace

void Device::make_endpoint(std::unique_ptr<TraceFile> events, const ShardNumber& shard) {
  const DeviceLock lock(mutex_);
  if (shard.of > 1) shards_.open();
  engine_.config =
      endpoint_config(config(), *engine_.datapath, evs(), slot(), seed_of(config().settings, shard.number));
  engine_.trace = std::move(events);
  profiles_.trace_to(engine_.trace.get(), &clock_);
  engine_.endpoint =
      std::make_unique<core::Endpoint>(engine_.config, static_cast<core::Sink*>(this), engine_.trace.get());
  planes_.apply_closed(now());
}

std::shared_ptr<Device> Device::start_over(const DeviceConfig& config, std::unique_ptr<datapath::Datapath> datapath,
                                           PerEv<core::EvEntry> evs, uint8_t slot, bool helper,
                                           const ShardNumber& shard, const Clock& clock) {
  assert(!helper || &clock == &host_clock);
  const std::shared_ptr<Device> device(
      new Device({config, std::move(evs), slot, bytes_of(config.settings.mtu), {}}, std::move(datapath), clock),
      Destroy());
  device->make_endpoint(nullptr, shard);
  if (helper && !device->start_helper()) return nullptr;
  return device;
}

namespace {

std::string named(const DeviceConfig& config) {
  return "device '" + config.name + "': ";
}

// `path` with the faults of the settings injected, if there are any.
Result<std::unique_ptr<datapath::Datapath>> with_faults(const DeviceConfig& config,
                                                        std::unique_ptr<datapath::Datapath> path) {
  if (config.settings.fault.empty()) return path;
  Result<std::shared_ptr<const datapath::FaultPlan>> plan = datapath::parse_fault(config.settings.fault);
  if (!plan) return std::move(plan).error().under(named(config) + "fault: ");
  core::DscpConfig dscp;
  dscp.trimmed = static_cast<uint8_t>(config.settings.dscp_trimmed);
  log_line(LogLevel::kWarn, named(config) + "injecting faults: " + config.settings.fault);
  for (const std::string& line : absent_in_fault(config)) log_line(LogLevel::kWarn, named(config) + line);
  return datapath::make_fault_datapath(std::move(path), *std::move(plan), dscp);
}

// No interface has the address of any plane.
bool is_of_another_host(const DeviceConfig& config) {
  return std::all_of(config.planes.begin(), config.planes.end(), [](const PlaneConfig& plane) {
    return !plane.addr.is_zero() && interface_of_address(plane.addr).empty();
  });
}

// Null: the settings ask for no trace.
Result<std::unique_ptr<TraceFile>> open_trace(const DeviceConfig& config) {
  if (config.settings.trace.empty()) return nullptr;
  Result<std::unique_ptr<TraceFile>> trace =
      TraceFile::open(config.settings.trace, {config.name, changed_settings(config.settings)});
  if (!trace) return std::move(trace).error().under(named(config));
  if (!(*trace)->start()) return Error{EAGAIN, named(config) + "cannot start the thread that writes the trace"};
  log_line(LogLevel::kInfo, named(config) + "engine events go to " + (*trace)->path());
  return trace;
}

}  // namespace

Result<std::shared_ptr<Device>> Device::start(const DeviceConfig& config, const ShardNumber& wanted) {
  const uint32_t shard = wanted.number;
  Result<HostPath> opened =
      open_host_datapath(config, seed_of(config.settings, shard), wanted.first_slot, wanted.of - shard);
  if (!opened) {
    Error error = std::move(opened).error().under(named(config));
    if (is_of_another_host(config))
      error.text +=
          ". These may be the addresses of another host: mrc-info --suggest prints a configuration of this one";
    return error;
  }
  const std::unique_ptr<datapath::HostDatapath>& host = opened->datapath;
  const uint32_t slot = opened->slot;
  std::vector<std::string> advice = host->advice();
  const uint32_t mtu = fitting_mtu(config, *host, &advice);
  // An error, because no others are shown by default.
  if (const std::string exposure = host->exposure(); !exposure.empty()) {
    log_once(LogLevel::kError, named(config) + exposure);
    advice.push_back(exposure);
  }
  for (const std::string& line : advice) log_once(LogLevel::kWarn, named(config) + line);
  for (const PlaneId p : host->closed_planes().ids())
    log_once(LogLevel::kWarn, named(config) + "plane " + std::to_string(port_of(p)) +
                                  " is out, and joins when this is mended: " + host->closed_planes().why(p));
  for (const std::string& line : host->notes()) log_line(LogLevel::kDebug, named(config) + line);
  const PerEv<core::EvEntry> evs = host->evs();
  Result<std::unique_ptr<datapath::Datapath>> path = with_faults(config, std::move(opened->datapath));
  if (!path) return std::move(path).error();
  Result<std::unique_ptr<TraceFile>> trace = open_trace(config);
  if (!trace) return std::move(trace).error();
  const std::string driver = (*path)->describe();
  std::shared_ptr<Device> device(
      new Device({config, evs, static_cast<uint8_t>(slot), mtu, std::move(advice)}, *std::move(path), host_clock),
      Destroy());
  device->make_endpoint(*std::move(trace), wanted);
  log_line(LogLevel::kInfo, named(config) + "process slot " + std::to_string(slot) + ", path MTU " +
                                std::to_string(mtu) + ", " + driver);
  if (Status published = device->publish(wanted); !published)
    log_line(LogLevel::kDebug, named(config) + "counters are not published: " + published.error().text);
  if (Status started = device->start_helper(); !started) return std::move(started).error();
  return device;
}

Status Device::publish(const ShardNumber& shard) {
  if (config().settings.publish.empty()) return {};
  const std::string suffix = shard.number == 0 ? "" : ".shard" + std::to_string(shard.number);
  return publisher_.open(config().settings.publish, config().name + suffix);
}

}  // namespace mrc::device
