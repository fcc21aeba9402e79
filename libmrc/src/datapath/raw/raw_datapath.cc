#include "datapath/raw/raw_datapath.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "datapath/poll_descriptors.h"
#include "datapath/raw/flush_pace.h"
#include "datapath/raw/packet_sockets.h"
#include "datapath/raw/raw_rx.h"
#include "datapath/raw/raw_tx.h"
#include "datapath/raw/xdp_planes.h"

namespace mrc::datapath {

namespace {

class Raw final : public HostDatapath {
 public:
  Status start(const HostConfig& config, RawIo io);

  int rx_burst(Instant now, core::RxBurst* out, int max) override;
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override;
  void flush() override;
  PlaneSet planes_with_room() override { return tx_.planes_with_room(&counters_); }
  int wait_fds(int* out, int max) const override {
    if (max < 1) return 0;
    out[0] = epoll_.get();
    return 1;
  }
  Instant next_timeout() const override { return pace_.next_flush(); }
  uint32_t max_segments() const override { return 1; }  // one entropy value per packet
  uint32_t max_burst_bytes() const override { return core::kMaxBurstBytes; }
  uint32_t receive_room() const override { return granted_; }
  const ClosedPlanes& closed_planes() const override { return closed_; }
  Status open_plane(PlaneId plane, const IpAddress& addr) override;
  const DatapathCounters& counters() override;
  std::string describe() const override;

  uint16_t plane_port(PlaneId plane) const override {
    return closed_.contains(plane) ? config_.planes[plane].port : sockets_[plane].ports().port();
  }
  const PerEv<core::EvEntry>& evs() const override { return tx_.evs(); }
  uint32_t plane_payload(PlaneId plane) const override;
  const std::vector<std::string>& advice() const override { return advice_; }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  static constexpr int kUselessRounds = 16;             // of receiving only unusable frames
  static constexpr uint32_t kDescriptorPollCalls = 16;  // while frames arrive without them

  Status open_sockets(PlaneId p);
  Status join(PlaneId p);

  Fd epoll_;
  HostConfig config_;
  ClosedPlanes closed_;
  PerPlane<PacketSockets> sockets_;
  XdpPlanes xdp_;
  FlushPace pace_;
  uint32_t calls_ = 0;
  RawTransmitter tx_;
  RawReceiver rx_;
  DatapathCounters counters_;
  std::vector<std::string> advice_, notes_;
  uint32_t granted_ = UINT32_MAX;
};

Status Raw::start(const HostConfig& config, RawIo io) {
  if (config.planes.empty() || config.planes.size() > 32 || config.evs.empty())
    return invalid("a raw datapath needs 1 to 32 planes and at least one EV");
  config_ = config;
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return failed_call("epoll");
  sockets_.resize(config.planes.size());
  const auto max_queues = static_cast<uint32_t>(RawReceiver::kMaxSources / sockets_.size()) - 2;
  xdp_.open(sockets_.size(), std::max(max_queues, 1u), io);
  for (const PlaneId p : sockets_.ids()) {
    Status opened = open_sockets(p);
    if (!opened)
      if (Status without = closed_.add(p, std::move(opened).error()); !without) return without;
  }
  if (closed_.ids() == sockets_.ids()) return closed_.none_open();
  if (granted_ < config.rcvbuf)
    advice_.push_back("receive buffers are " + std::to_string(granted_) + " bytes instead of " +
                      std::to_string(config.rcvbuf) + ": sysctl -w net.core.rmem_max=" + std::to_string(config.rcvbuf));
  if (Status opened = tx_.open(config, epoll_.get()); !opened) return opened;
  if (Status opened = rx_.open(config, epoll_.get()); !opened) return opened;
  for (const PlaneId p : sockets_.ids() - closed_.ids())
    if (Status joined = join(p); !joined) return joined;
  return {};
}

// Replaced as a whole: an attempt that failed leaves no remains.
Status Raw::open_sockets(PlaneId p) {
  PacketSockets sockets;
  if (config_.planes[p].addr.is_zero()) return Error{EADDRNOTAVAIL, "its interface is missing, or has no address"};
  if (Status opened = sockets.open(config_.planes[p], config_.rcvbuf, config_.sndbuf); !opened) return opened;
  if (sockets.ports().second_port_taken())
    notes_.push_back("plane " + std::to_string(port_of(p)) + " receives on port " +
                     std::to_string(sockets.ports().port()) + " alone: port " +
                     std::to_string(config_.planes[p].second_port) + " is taken");
  granted_ = std::min(granted_, sockets.granted_receive());
  sockets_[p] = std::move(sockets);
  return xdp_.open_plane(p, sockets_[p], config_.planes[p].addr);
}

Status Raw::join(PlaneId p) {
  if (Status opened = tx_.open_plane(p, sockets_[p], xdp_[p]); !opened) return opened;
  return rx_.open_plane(p, config_.planes[p], sockets_[p], xdp_[p]);
}

// A failure after the sockets have opened is not repaired: it is one of memory or of descriptors.
Status Raw::open_plane(PlaneId plane, const IpAddress& addr) {
  HostPlane& wanted = config_.planes[plane];
  const IpAddress before = std::exchange(wanted.addr, addr);
  Status opened = open_sockets(plane);
  if (opened) opened = join(plane);
  if (opened)
    closed_.erase(plane);
  else
    wanted.addr = before;
  return opened;
}

const DatapathCounters& Raw::counters() {
  counters_.rx_overflow += xdp_.take_dropped();
  return counters_;
}

uint32_t Raw::plane_payload(PlaneId plane) const {
  uint32_t headers = kIpv6Bytes + kUdpBytes;
  if (config_.srv6 != nullptr) headers += kIpv6Bytes + (config_.srv6->may_need_segment() ? kSrhBytes : 0);
  uint32_t mtu = sockets_[plane].interface().mtu;
  if (xdp_[plane] != nullptr) mtu = std::min(mtu, xdp_[plane]->largest_frame() - kEthernetBytes);
  return mtu > headers ? mtu - headers : 0;
}

int Raw::rx_burst(Instant now, core::RxBurst* out, int max) {
  pace_.note_call(now);
  flush();
  for (int round = 0; round < kUselessRounds; ++round) {
    rx_.poll_rings();
    if (!rx_.any_ready() || ++calls_ % kDescriptorPollCalls == 0) poll_descriptors(epoll_.get(), &rx_, &tx_);
    if (!rx_.any_ready()) return 0;
    if (const int got = rx_.receive(out, max, &counters_); got > 0) return got;
  }
  return 0;  // the engine has timers to run
}

void Raw::flush() {
  tx_.flush(&counters_);
  pace_.note_flush(tx_.unsent());
}

int Raw::tx_burst(Instant now, const core::TxBurst* const* bursts, int n) {
  pace_.note_call(now);
  if (n == 0) flush();
  for (int i = 0; i < n; ++i)
    if (!tx_.send(now, *bursts[i], &counters_)) return i;
  return n;
}

std::string Raw::describe() const {
  std::string text = std::string("raw frames") + (config_.srv6 != nullptr ? " with SRv6: " : ": ") +
                     std::to_string(sockets_.size()) + " planes, " + std::to_string(tx_.evs().size()) +
                     " EVs, receive buffer " + std::to_string(granted_) + " bytes\n";
  for (const PlaneId p : sockets_.ids()) {
    if (closed_.contains(p)) {
      text += "plane " + std::to_string(port_of(p)) + ": out: " + closed_.why(p) + "\n";
      continue;
    }
    const Interface& i = sockets_[p].interface();
    text += "plane " + std::to_string(port_of(p)) + ": " + config_.planes[p].addr.to_string() + " port " +
            std::to_string(sockets_[p].ports().port()) + " on " + i.name + ", MTU " + std::to_string(i.mtu) + " by " +
            (xdp_[p] != nullptr ? xdp_[p]->describe() : "AF_PACKET: " + xdp_.why_packet(p)) + "\n";
  }
  if (const std::string error = tx_.first_error(); !error.empty()) text += "first send error: " + error + "\n";
  return text;
}

}  // namespace

Result<std::unique_ptr<HostDatapath>> open_raw_datapath(const HostConfig& config, RawIo io) {
  auto raw = std::make_unique<Raw>();
  if (Status started = raw->start(config, io); !started) return std::move(started).error();
  return raw;
}

}  // namespace mrc::datapath
