#include "datapath/raw/raw_datapath.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "datapath/raw/packet_sockets.h"
#include "datapath/raw/raw_rx.h"
#include "datapath/raw/raw_tx.h"
#include "datapath/raw/xdp_plane.h"

namespace mrc::datapath {

namespace {

class Raw final : public HostDatapath {
 public:
  bool start(const HostConfig& config, RawIo io, std::string* error);

  int rx_burst(Instant now, core::RxBurst* out, int max) override;
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override;
  PlaneSet planes_with_room() override { return tx_.planes_with_room(); }
  int wait_fds(int* out, int max) const override {
    if (max < 1) return 0;
    out[0] = epoll_.get();
    return 1;
  }
  uint32_t max_segments() const override { return 1; }  // one entropy value per packet
  uint32_t max_burst_bytes() const override { return core::kMaxBurstBytes; }
  const DatapathCounters& counters() override;
  std::string describe() const override;

  uint16_t plane_port(PlaneId plane) const override { return sockets_[plane].ports().port(); }
  const std::vector<core::EvEntry>& evs() const override { return tx_.evs(); }
  uint32_t plane_payload(PlaneId plane) const override;
  const std::vector<std::string>& advice() const override { return advice_; }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  bool open_xdp(size_t plane, RawIo io, std::string* error);

  Fd epoll_;
  HostConfig config_;
  PerPlane<PacketSockets> sockets_;
  PerPlane<std::unique_ptr<XdpPlane>> xdp_;  // null: AF_PACKET
  std::vector<std::string> why_packet_;
  uint64_t xdp_dropped_ = 0;  // counted already
  RawTransmitter tx_;
  RawReceiver rx_;
  DatapathCounters counters_;
  std::vector<std::string> advice_, notes_;
  uint32_t granted_ = UINT32_MAX;
};

bool Raw::start(const HostConfig& config, RawIo io, std::string* error) {
  if (config.planes.empty() || config.planes.size() > 32 || config.evs.empty()) {
    *error = "a raw datapath needs 1 to 32 planes and at least one EV";
    errno = EINVAL;
    return false;
  }
  config_ = config;
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) {
    *error = std::string("epoll: ") + std::strerror(errno);
    return false;
  }
  sockets_.resize(config.planes.size());
  xdp_.resize(config.planes.size());
  why_packet_.resize(config.planes.size());
  for (size_t p = 0; p < sockets_.size(); ++p) {
    if (!sockets_[p].open(config.planes[p], config.rcvbuf, config.sndbuf, error)) {
      *error = "plane " + std::to_string(p + 1) + ": " + *error;
      return false;
    }
    if (sockets_[p].ports().second_port_taken())
      notes_.push_back("plane " + std::to_string(p + 1) + " receives on port " +
                       std::to_string(sockets_[p].ports().port()) + " alone: port " +
                       std::to_string(config.planes[p].second_port) + " is taken");
    granted_ = std::min(granted_, sockets_[p].granted_receive());
    if (!open_xdp(p, io, error)) return false;
  }
  if (granted_ < config.rcvbuf)
    advice_.push_back("receive buffers are " + std::to_string(granted_) + " bytes instead of " +
                      std::to_string(config.rcvbuf) + ": sysctl -w net.core.rmem_max=" + std::to_string(config.rcvbuf));
  return tx_.open(config, sockets_, xdp_, epoll_.get(), error) && rx_.open(config, sockets_, xdp_, epoll_.get(), error);
}

bool Raw::open_xdp(size_t plane, RawIo io, std::string* error) {
  std::string why = "raw_io asks for it";
  if (io == RawIo::kPacket || sockets_[plane].interface().name == "lo") {
    if (io != RawIo::kPacket) why = "there is no XDP worth the name on loopback";
    why_packet_[plane] = why;
    return true;
  }
  auto xdp = std::make_unique<XdpPlane>();
  const auto most_queues = static_cast<uint32_t>(RawReceiver::kMaxSources / sockets_.size()) - 2;
  if (xdp->open(sockets_[plane], config_.planes[plane].addr, std::max(most_queues, 1u), &why)) {
    xdp_[plane] = std::move(xdp);
    return true;
  }
  if (io == RawIo::kAuto) {
    why_packet_[plane] = why;
    return true;
  }
  *error = "plane " + std::to_string(plane + 1) + ": no AF_XDP on " + sockets_[plane].interface().name + ": " + why;
  return false;
}

const DatapathCounters& Raw::counters() {
  uint64_t dropped = 0;
  for (const auto& xdp : xdp_)
    if (xdp != nullptr)
      for (const auto& queue : xdp->queues()) dropped += queue->dropped();
  counters_.rx_overflow += dropped - xdp_dropped_;
  xdp_dropped_ = dropped;
  return counters_;
}

uint32_t Raw::plane_payload(PlaneId plane) const {
  uint32_t headers = kIpv6Bytes + kUdpBytes;
  if (config_.srv6 != nullptr) headers += kIpv6Bytes + (config_.srv6->may_need_segment() ? kSrhBytes : 0);
  uint32_t mtu = sockets_[plane].interface().mtu;
  if (xdp_[plane] != nullptr) mtu = std::min(mtu, xdp_[plane]->largest_frame() - kEthernetBytes);
  return mtu > headers ? mtu - headers : 0;
}

int Raw::rx_burst(Instant, core::RxBurst* out, int max) {
  tx_.kick_again();
  for (;;) {
    if (!rx_.any_ready()) {
      epoll_event events[16];
      const int n = ::epoll_wait(epoll_.get(), events, 16, 0);
      for (int i = 0; i < n; ++i) {
        const uint64_t tag = events[i].data.u64;
        if (tag >= RawTransmitter::kEpollTag)
          tx_.unblock(PlaneId(static_cast<uint8_t>(tag - RawTransmitter::kEpollTag)));
        else
          rx_.set_ready(static_cast<uint32_t>(tag));
      }
    }
    if (!rx_.any_ready()) return 0;
    if (const int got = rx_.receive(out, max, &counters_); got > 0) return got;
  }
}

int Raw::tx_burst(Instant, const core::TxBurst* const* bursts, int n) {
  for (int i = 0; i < n; ++i)
    if (!tx_.send(*bursts[i], &counters_)) return i;
  return n;
}

std::string Raw::describe() const {
  std::string text = std::string("raw frames") + (config_.srv6 != nullptr ? " with SRv6: " : ": ") +
                     std::to_string(sockets_.size()) + " planes, " + std::to_string(tx_.evs().size()) +
                     " EVs, receive buffer " + std::to_string(granted_) + " bytes\n";
  for (size_t p = 0; p < sockets_.size(); ++p) {
    const Interface& i = sockets_[p].interface();
    text += "plane " + std::to_string(p + 1) + ": " + config_.planes[p].addr.to_string() + " port " +
            std::to_string(sockets_[p].ports().port()) + " on " + i.name + ", MTU " + std::to_string(i.mtu) + " by " +
            (xdp_[p] != nullptr ? xdp_[p]->describe() : "AF_PACKET: " + why_packet_[p]) + "\n";
  }
  if (!tx_.first_error().empty()) text += "first send error: " + tx_.first_error() + "\n";
  return text;
}

}  // namespace

std::unique_ptr<HostDatapath> open_raw_datapath(const HostConfig& config, RawIo io, std::string* error, int* err) {
  auto raw = std::make_unique<Raw>();
  errno = 0;
  if (raw->start(config, io, error)) return raw;
  if (err != nullptr) *err = errno;
  return nullptr;
}

}  // namespace mrc::datapath
