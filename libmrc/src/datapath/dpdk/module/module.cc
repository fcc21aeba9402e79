// The DPDK datapath as a HostDatapath, and the module's one function.
#include <rte_eal.h>
#include <rte_version.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "datapath/dpdk/module/eal.h"
#include "datapath/dpdk/module/plane.h"
#include "datapath/frame/ev_paths.h"

namespace mrc::datapath {

namespace {

class Dpdk final : public HostDatapath {
 public:
  ~Dpdk() override;
  Status start(const HostConfig& config, const DpdkConfig& dpdk);

  int rx_burst(Instant now, core::RxBurst* out, int max) override;
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override;
  void flush() override;
  uint8_t* staging() override;
  PlaneSet planes_with_room() override;
  int wait_fds(int*, int) const override { return 0; }  // polled; next_timeout() sets the interval
  Instant next_timeout() const override { return polled_ + poll_; }
  uint32_t max_segments() const override { return 1; }  // one entropy value per packet
  uint32_t max_burst_bytes() const override { return core::kMaxBurstBytes; }
  const ClosedPlanes& closed_planes() const override { return closed_; }
  Status open_plane(PlaneId plane, const IpAddress&) override {
    return Error{ENODEV, "DPDK's ports are opened at the start only: " + closed_.why(plane)};
  }
  const DatapathCounters& counters() override;
  std::string describe() const override;

  uint16_t plane_port(PlaneId plane) const override {
    return closed_.contains(plane) ? config_.planes[plane].port : planes_[plane]->udp_port();
  }
  const PerEv<core::EvEntry>& evs() const override { return paths_.evs(); }
  uint32_t plane_payload(PlaneId plane) const override;
  const std::vector<std::string>& advice() const override { return advice_; }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  static constexpr int kUselessRounds = 16;  // of receiving only unusable frames: the engine has timers to run

  // More than a packet that the engine composes.
  static constexpr uint32_t kMaxStaged = 9000 + core::kHeaderRoom;

  Status open_port(PlaneId p, const DpdkConfig& dpdk);
  bool poll_planes(Instant now);

  HostConfig config_;
  EvPaths paths_;
  PerPlane<std::unique_ptr<DpdkPlane>> planes_;
  ClosedPlanes closed_;  // they have none, and stay so
  PlaneSet open_;
  PlaneSet unsent_;  // planes that took packets since the last flush
  bool stages_ = false;
  rte_mbuf* staged_ = nullptr;  // for the next packet
  size_t stages_from_ = 0;      // plane whose port gave it
  Duration poll_;
  Instant polled_;
  uint32_t next_ = 0;  // plane to poll first, for fairness
  DatapathCounters counters_;
  std::vector<std::string> advice_, notes_;
};

Status Dpdk::start(const HostConfig& config, const DpdkConfig& dpdk) {
  if (config.planes.empty() || config.planes.size() > 32 || config.evs.empty() ||
      dpdk.ports.size() != config.planes.size() || dpdk.gateways.size() != config.planes.size())
    return invalid("a DPDK datapath needs 1 to 32 planes, a port for each (the setting dpdk_ports has " +
                   std::to_string(dpdk.ports.size()) + " for " + std::to_string(config.planes.size()) +
                   " planes), and at least one EV");
  config_ = config;
  poll_ = dpdk.poll;
  if (Status started = start_eal(dpdk.eal); !started) return started;
  if (Status opened = paths_.open(config); !opened) return opened;
  planes_.resize(config.planes.size());
  for (const PlaneId p : planes_.ids())
    if (Status opened = open_port(p, dpdk); !opened)
      if (Status without = closed_.add(p, std::move(opened).error().under("restart to use it: ")); !without)
        return without;
  open_ = planes_.ids() - closed_.ids();
  if (open_.empty()) return closed_.none_open();
  stages_ = true;
  for (const PlaneId p : open_) stages_ = stages_ && planes_[p]->port().buffer_bytes() >= kMaxStaged;
  return {};
}

Status Dpdk::open_port(PlaneId p, const DpdkConfig& dpdk) {
  const HostPlane& wanted = config_.planes[p];
  if (wanted.addr.is_zero()) return Error{EADDRNOTAVAIL, "its interface is missing, or has no address"};
  auto plane = std::make_unique<DpdkPlane>();
  const size_t i = p.value();
  if (Status opened = plane->open(wanted, dpdk.gateways[i], {dpdk.ports[i], dpdk.mtu, dpdk.checksum}); !opened)
    return opened;
  const std::string name = "plane " + std::to_string(port_of(p));
  if (!plane->port().note().empty()) notes_.push_back(name + ": " + plane->port().note());
  if (plane->second_port_taken())
    notes_.push_back(name + " receives on port " + std::to_string(plane->udp_port()) + " alone: port " +
                     std::to_string(wanted.second_port) + " is taken");
  planes_[p] = std::move(plane);
  return {};
}

// Planes and their drivers may have packets in buffers of each other's ports.
Dpdk::~Dpdk() {
  rte_pktmbuf_free(staged_);
  for (const PlaneId p : open_) planes_[p]->discard();
  for (const PlaneId p : open_) planes_[p]->port().stop();
}

// Of the ports in turn: drivers keep what they have sent until they need room, so that each port's pool has to fill one
// ring, wherever its buffers go.
uint8_t* Dpdk::staging() {
  if (staged_ == nullptr && stages_) {
    do stages_from_ = stages_from_ + 1 < planes_.size() ? stages_from_ + 1 : 0;
    while (planes_.data()[stages_from_] == nullptr);
    staged_ = planes_.data()[stages_from_]->port().allocate();
  }
  return staged_ != nullptr ? rte_pktmbuf_mtod(staged_, uint8_t*) : nullptr;
}

uint32_t Dpdk::plane_payload(PlaneId plane) const {
  if (closed_.contains(plane)) return 0;
  uint32_t headers = kIpv6Bytes + kUdpBytes;
  if (config_.srv6 != nullptr) headers += kIpv6Bytes + (config_.srv6->may_need_segment() ? kSrhBytes : 0);
  const uint32_t mtu = planes_[plane]->port().mtu();
  return mtu > headers ? mtu - headers : 0;
}

// The background work of the planes: neighbours' solicitations and answers, and packets that waited for them or for
// room. True: a port had frames.
bool Dpdk::poll_planes(Instant now) {
  polled_ = now;
  bool any = false;
  for (const PlaneId p : open_) {
    DpdkPlane& plane = *planes_[p];
    if (plane.poll(now, &counters_)) any = true;
    plane.solicit_again(now, &counters_);
    plane.flush();
  }
  unsent_ = PlaneSet();
  return any;
}

int Dpdk::rx_burst(Instant now, core::RxBurst* out, int max) {
  for (const PlaneId p : open_) planes_[p]->release();
  int got = 0;
  for (int round = 0; round < kUselessRounds && got == 0 && poll_planes(now); ++round) {
    for (size_t asked = 0; asked < planes_.size() && got < max; ++asked) {
      const uint32_t p = next_;
      next_ = (p + 1) % static_cast<uint32_t>(planes_.size());
      if (planes_[p] == nullptr) continue;
      const int n = planes_[p]->receive(out + got, max - got, &counters_);
      for (int i = 0; i < n; ++i) out[got + i].plane = plane_at(p);
      got += n;
    }
  }
  return got;
}

int Dpdk::tx_burst(Instant now, const core::TxBurst* const* bursts, int n) {
  if (n == 0) poll_planes(now);
  int taken = 0;
  for (; taken < n; ++taken) {
    const core::TxBurst& burst = *bursts[taken];
    if (closed_.contains(burst.plane)) {  // dropped
      counters_.tx_errors += burst.segments;
      continue;
    }
    DpdkPlane& plane = *planes_[burst.plane];
    const bool staged =
        staged_ != nullptr && burst.iov_count == 1 && burst.iov[0].iov_base == rte_pktmbuf_mtod(staged_, void*);
    if (!plane.send(now, burst, paths_.as_sent(burst.flow), paths_.path(burst.flow, burst.plane, burst.ev_index),
                    staged ? staged_ : nullptr, &counters_)) {
      ++counters_.tx_no_room;
      break;
    }
    if (staged) staged_ = nullptr;
    ++counters_.tx_bursts;
    unsent_.insert(burst.plane);
  }
  return taken;
}

void Dpdk::flush() {
  for (const PlaneId p : unsent_) {
    ++counters_.tx_calls;
    planes_[p]->flush();
  }
  unsent_ = PlaneSet();
}

PlaneSet Dpdk::planes_with_room() {
  PlaneSet room;
  for (const PlaneId p : open_) {
    if (!planes_[p]->has_room()) planes_[p]->flush();
    room.set(p, planes_[p]->has_room());
  }
  return room;
}

const DatapathCounters& Dpdk::counters() {
  counters_.rx_overflow = 0;
  for (const PlaneId p : open_) counters_.rx_overflow += planes_[p]->port().missed();
  return counters_;
}

std::string Dpdk::describe() const {
  std::string text = std::string("DPDK") + (config_.srv6 != nullptr ? " with SRv6: " : ": ") +
                     std::to_string(planes_.size()) + " planes, " + std::to_string(paths_.evs().size()) + " EVs, " +
                     rte_version() + (rte_eal_has_hugepages() != 0 ? "" : ", without huge pages") + "\n";
  for (const PlaneId p : closed_.ids())
    text += "plane " + std::to_string(port_of(p)) + ": out: " + closed_.why(p) + "\n";
  for (const PlaneId p : open_) {
    const Port& port = planes_[p]->port();
    text += "plane " + std::to_string(port_of(p)) + ": " + config_.planes[p].addr.to_string() + " port " +
            std::to_string(planes_[p]->udp_port()) + " on " + port.name() + " (" + port.driver() + "), MTU " +
            std::to_string(port.mtu()) + ", UDP checksums " +
            (port.computes_checksums() ? "by the port" : "in software or 0") + "\n";
    if (!planes_[p]->first_error().empty()) text += "first send error: " + planes_[p]->first_error() + "\n";
  }
  return text;
}

}  // namespace

}  // namespace mrc::datapath

extern "C" __attribute__((visibility("default"))) mrc::datapath::HostDatapath* mrc_dpdk_open(
    uint32_t version, const mrc::datapath::HostConfig& config, const mrc::datapath::DpdkConfig& dpdk,
    std::string* error, int* err) {
  if (version != mrc::datapath::kDpdkModuleVersion) {
    *error = "libmrc-dpdk.so is of another build than libmrc: install both from one";
    *err = ELIBBAD;
    return nullptr;
  }
  auto opened = std::make_unique<mrc::datapath::Dpdk>();
  mrc::Status started = opened->start(config, dpdk);
  if (started) return opened.release();
  *error = started.error().text;
  *err = started.error().code;
  return nullptr;
}
