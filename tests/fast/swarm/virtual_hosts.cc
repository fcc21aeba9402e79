#include "swarm/virtual_hosts.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "datapath/datapath.h"
#include "datapath/mem/lent_bursts.h"
#include "device/registry.h"

namespace mrc::swarm {

namespace {

VirtualHosts* world = nullptr;

constexpr uint32_t kFirstEv = 49152;
constexpr const char* kNames[kMaxHosts] = {"host1", "host2", "host3"};

IpAddress address(int host, int plane) {
  return IpAddress::v4(10, static_cast<uint8_t>(plane + 1), 0, static_cast<uint8_t>(host + 1));
}

}  // namespace

// The world knows it for as long as its device lives.
class VirtualHosts::Path final : public datapath::Datapath {
 public:
  Path(VirtualHosts* hosts, int host) : hosts_(hosts), host_(host) { slot() = this; }
  ~Path() override { slot() = nullptr; }

  void put(simnet::Delivery arrived) { arrived_.push_back({arrived.burst, std::move(arrived.bytes)}); }

  int rx_burst(Instant, core::RxBurst* out, int max) override {
    lent_.begin();
    for (; !arrived_.empty() && lent_.count() < max; arrived_.pop_front()) lent_.add(std::move(arrived_.front()));
    return lent_.lend(out, &counters_);
  }
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override {
    for (int i = 0; i < n && hosts_->up(host_); ++i) hosts_->net_.send(now, host_, *bursts[i]);
    return n;
  }
  PlaneSet planes_with_room() override { return PlaneSet::all(static_cast<size_t>(hosts_->net_.planes())); }
  int wait_fds(int*, int) const override { return 0; }
  uint32_t max_segments() const override { return core::kMaxSegments; }
  uint32_t max_burst_bytes() const override { return core::kMaxBurstBytes; }
  const datapath::DatapathCounters& counters() override { return counters_; }
  std::string describe() const override { return "simulated\n"; }

 private:
  Path*& slot() { return hosts_->paths_[static_cast<size_t>(host_)]; }

  VirtualHosts* const hosts_;
  const int host_;
  std::deque<datapath::OwnedBurst> arrived_;
  datapath::LentBursts lent_;
  datapath::DatapathCounters counters_;
};

VirtualHosts::VirtualHosts(const HostsConfig& config)
    : config_(config),
      net_(config.seed * 7919 + 1, config.planes),
      up_(static_cast<size_t>(config.hosts), true),
      paths_(static_cast<size_t>(config.hosts), nullptr) {
  world = this;
  device::Config all;
  for (int host = 0; host < kMaxHosts; ++host) {  // names that are known once stay
    all.devices.push_back(describe(host, config.settings));
    for (int plane = 0; plane < config.planes; ++plane) net_.attach(host, plane, address(host, plane));
  }
  device::provide_devices(all, start_device);
}

VirtualHosts::~VirtualHosts() {
  world = nullptr;
}

const char* VirtualHosts::device_name(int host) {
  return kNames[host];
}

device::DeviceConfig VirtualHosts::describe(int host, const device::Settings& settings) const {
  device::DeviceConfig d;
  d.name = kNames[host];
  d.settings = settings;
  d.gids = {address(host, 0)};
  d.peer_template = *device::AddressTemplate::parse("10.{plane}.0.{host}");
  for (int plane = 0; plane < config_.planes; ++plane) {
    device::PlaneConfig p;
    p.addr = address(host, plane);
    p.port = 4791;
    p.port_base = static_cast<uint16_t>(20000 + device::kSlotsPerPlane * static_cast<uint32_t>(plane));
    d.planes.push_back(p);
  }
  return d;
}

Result<std::shared_ptr<device::Shards>> VirtualHosts::start_device(const device::DeviceConfig& config) {
  device::DeviceConfig own = config;
  own.settings.seed = static_cast<int64_t>(world->config_.seed % 1'000'000 + 1 + 7 * world->started_++);
  int host = 0;
  while (own.name != kNames[host]) ++host;
  PerEv<core::EvEntry> evs;
  for (int i = 0; i < world->config_.evs_per_plane; ++i)
    for (int p = 0; p < world->config_.planes; ++p)
      evs.push_back({kFirstEv + static_cast<uint32_t>(i * world->config_.planes + p), plane_at(p)});
  return std::make_shared<device::Shards>(std::vector{
      device::Device::start_over(own, std::make_unique<Path>(world, host), std::move(evs), 0, false, {}, *world)});
}

void VirtualHosts::wait(pollfd*, nfds_t, Duration max) const {
  now_ = now_ + max;
}

void VirtualHosts::step(Duration max) {
  now_ = std::max(now_ + Duration::nanoseconds(1), std::min(net_.next_delivery(), now_ + max));
  while (std::optional<simnet::Delivery> due = net_.take(now_)) {
    const auto to = static_cast<size_t>(due->node);
    if (to < paths_.size() && paths_[to] != nullptr && up_[to]) paths_[to]->put(*std::move(due));
  }
}

}  // namespace mrc::swarm
