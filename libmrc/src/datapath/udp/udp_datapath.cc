#include "datapath/udp/udp_datapath.h"

#include <sys/epoll.h>

#include <cerrno>

#include "datapath/poll_descriptors.h"
#include "datapath/udp/group_sockets.h"
#include "datapath/udp/loop_check.h"
#include "datapath/udp/rx.h"
#include "datapath/udp/self_test.h"
#include "datapath/udp/source_rules.h"
#include "datapath/udp/tx.h"

namespace mrc::datapath {

namespace {

class Udp final : public UdpDatapath {
 public:
  Status start(const UdpConfig& config);

  int rx_burst(Instant now, core::RxBurst* out, int max) override;
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override;
  PlaneSet planes_with_room() override { return tx_.planes_with_room(&counters_); }
  int wait_fds(int* out, int max) const override {
    if (max < 1) return 0;
    out[0] = epoll_.get();
    return 1;
  }
  uint32_t max_segments() const override { return gso_ ? core::kMaxSegments : kSegmentsWithoutGso; }
  uint32_t max_burst_bytes() const override { return core::kMaxBurstBytes; }
  uint32_t receive_room() const override { return rx_.sockets().granted(); }
  std::optional<TooLong> take_too_long() override { return tx_.take_too_long(); }
  const ClosedPlanes& closed_planes() const override { return closed_; }
  Status open_plane(PlaneId plane, const IpAddress& addr) override;
  uint32_t max_groups() const override;
  Result<PerPlane<core::PlaneAddress>> group_sources() override;
  Status join_group(const PerPlane<core::PlaneAddress>& group) override { return rx_.join(group); }
  void leave_group(const PerPlane<core::PlaneAddress>& group) override { rx_.leave(group); }
  const DatapathCounters& counters() override { return counters_; }
  std::string describe() const override;

  uint16_t plane_port(PlaneId plane) const override { return rx_.sockets().port(plane); }
  const PerEv<core::EvEntry>& evs() const override { return tx_.evs(); }
  bool gso() const override { return gso_ && !tx_.planes_without_gso().intersects(gso_planes_); }
  bool gro() const override { return gro_; }
  uint32_t plane_payload(PlaneId plane) const override;
  const std::vector<std::string>& advice() const override { return advice_; }
  std::string exposure() const override;
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  // The cost of one sendmmsg is per packet, so that long bursts only degrade the spraying; a few save most of the
  // calls' overhead.
  static constexpr uint32_t kSegmentsWithoutGso = 8;
  // What a route with `encap seg6` leaves free in a packet: an IPv6 header, and an SRH with one segment.
  static constexpr uint32_t kEncapsulation = 64;
  static constexpr int kUselessRounds = 16;  // of receiving only unusable datagrams

  Status choose_offload(const UdpConfig& config);
  void choose_gso_planes(const UdpConfig& config);
  void choose_encapsulated_gso(const UdpConfig& config);
  void advise(const UdpConfig& config);

  Fd epoll_;
  UdpReceiver rx_;
  UdpTransmitter tx_;
  DatapathCounters counters_;
  PerPlane<HostPlane> planes_;
  PerPlane<Interface> interfaces_;
  ClosedPlanes closed_;
  std::vector<std::string> advice_;
  std::vector<std::string> notes_;
  PlaneSet gso_planes_;
  bool gso_ = false;
  bool gro_ = false;
  bool srv6_ = false;
  bool kernel_encapsulates_ = false;
};

Status Udp::choose_offload(const UdpConfig& config) {
  const UdpSyscalls& sys = *config.syscalls;
  OffloadSupport found;
  if (config.gso != Offload::kOff || config.gro != Offload::kOff)
    for (const HostPlane& plane : config.planes) {  // the first one whose address is there
      if (!plane.addr.is_zero()) found = test_offload(sys, plane.addr, plane.interface);
      if (found.gso || found.gro) break;
    }
  gso_ = config.gso != Offload::kOff && found.gso;
  gro_ = config.gro != Offload::kOff && found.gro;
  if ((config.gso == Offload::kOn && !gso_) || (config.gro == Offload::kOn && !gro_))
    return Error{EOPNOTSUPP, std::string("the kernel does not offer UDP ") +
                                 (gso_ || config.gso != Offload::kOn ? "GRO" : "GSO") + ", which the settings ask for"};
  return {};
}

void Udp::choose_gso_planes(const UdpConfig& config) {
  gso_planes_ = gso_ ? PlaneSet::all() : PlaneSet();
  srv6_ = config.srv6 != nullptr;
  kernel_encapsulates_ = config.srv6_encap == Srv6Encap::kKernel;
  if (!srv6_ || !gso_ || config.gso == Offload::kOn) return;
  if (kernel_encapsulates_) {
    choose_encapsulated_gso(config);
    return;
  }
  gso_planes_ = check_loops(*config.syscalls, config.planes, *config.srv6);
  for (const PlaneId p : config.planes.ids() - gso_planes_ - closed_.ids())
    notes_.push_back("plane " + std::to_string(p.value() + 1) +
                     " sends packet by packet without UDP checksum: no loop through the fabric showed that checksums "
                     "survive the shifting of uSIDs");
  gso_ = !gso_planes_.empty();
}

// Where the interface computes no checksums, Linux 6.18 takes a burst and loses it (ENOMEM at best): its segmentation
// by software fails once a header has been put in front of the packet. [MRC-SR-27]
void Udp::choose_encapsulated_gso(const UdpConfig& config) {
  gso_planes_ = config.planes.ids();
  for (const PlaneId p : config.planes.ids()) {
    if (computes_checksums(interface_of(config.planes[p].addr).name)) continue;
    gso_planes_.erase(p);
    if (closed_.contains(p)) continue;
    notes_.push_back(
        "plane " + std::to_string(p.value() + 1) +
        " sends packet by packet: its interface computes no checksums (ethtool -K ... tx on), and then the "
        "kernel cannot segment what it encapsulates");
  }
  gso_ = !gso_planes_.empty();
}

Status Udp::start(const UdpConfig& config) {
  if (config.planes.empty() || config.planes.size() > 32 || config.evs.empty())
    return invalid("a UDP datapath needs 1 to 32 planes and at least one EV");
  planes_ = config.planes;
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return failed_call("epoll");
  if (config.srv6_encap == Srv6Encap::kKernel && (config.srv6 == nullptr || config.source_ports.first == 0 ||
                                                  config.source_ports.size() < config.srv6->max_path_count()))
    return invalid("encapsulation by the kernel needs SRv6 paths, and a source port for each");
  if (Status chosen = choose_offload(config); !chosen) return chosen;
  // The ports first: a process that finds them taken tries the next ones, and must not wait for loops each time.
  if (Status opened = rx_.open(config, *config.syscalls, gro_, epoll_.get(), &closed_); !opened) return opened;
  if (closed_.ids() == planes_.ids()) return closed_.none_open();
  choose_gso_planes(config);
  if (Status opened = tx_.open(config, *config.syscalls, gso_planes_, closed_.ids(), epoll_.get()); !opened)
    return opened;
  notes_.insert(notes_.end(), rx_.sockets().notes().begin(), rx_.sockets().notes().end());
  for (const HostPlane& plane : planes_) interfaces_.push_back(interface_of(plane.addr));
  advise(config);
  return {};
}

Status Udp::open_plane(PlaneId plane, const IpAddress& addr) {
  HostPlane wanted = planes_[plane];
  wanted.addr = addr;
  Status opened = rx_.open_plane(plane, wanted);
  if (opened) {
    opened = tx_.open_plane(plane, wanted);
    if (!opened) rx_.close_plane(plane);
  }
  if (!opened) return opened;
  closed_.erase(plane);
  planes_[plane] = wanted;
  interfaces_[plane] = interface_of(addr);
  return {};
}

void Udp::advise(const UdpConfig& config) {
  if (rx_.sockets().granted() < config.rcvbuf)
    advice_.push_back("receive buffers are " + std::to_string(rx_.sockets().granted()) + " bytes instead of " +
                      std::to_string(config.rcvbuf) + ": sysctl -w net.core.rmem_max=" + std::to_string(config.rcvbuf));
  if (tx_.sockets().granted() < config.sndbuf)
    advice_.push_back("send buffers are " + std::to_string(tx_.sockets().granted()) + " bytes instead of " +
                      std::to_string(config.sndbuf) + ": sysctl -w net.core.wmem_max=" + std::to_string(config.sndbuf));
  if (config.srv6_encap == Srv6Encap::kKernel) {
    std::string missing = missing_rule(source_port_rules(), config.source_ports, config.srv6->max_path_count());
    if (!missing.empty()) advice_.push_back(std::move(missing));
  }
  if (config.gso == Offload::kAuto && !gso_ && !srv6_)
    advice_.push_back("no UDP segmentation offload (GSO, Linux 4.18): sending packet by packet");
  if (config.gro == Offload::kAuto && !gro_)
    advice_.push_back("no UDP receive offload (GRO, Linux 5.0): receiving packet by packet");
}

std::string Udp::exposure() const {
  if (tx_.sockets().unguarded() == 0) return {};
  const DescriptorRoom& room = tx_.sockets().descriptors();
  std::string text = "other users of this host can send from " + std::to_string(tx_.sockets().unguarded()) + " of " +
                     std::to_string(tx_.evs().size()) +
                     " source ports, and so fail queue pairs: the ports could not be held on all addresses";
  if (!room.for_guards)
    text += ". The limit of descriptors is " + std::to_string(room.limit) + ": ulimit -n " +
            std::to_string(room.wanted) + ", or a smaller ev_count";
  return text;
}

uint32_t Udp::plane_payload(PlaneId plane) const {
  uint32_t mtu = interfaces_[plane].mtu;
  const uint32_t headers = (planes_[plane].addr.is_v4() ? 28 : 48) + (kernel_encapsulates_ ? kEncapsulation : 0);
  return mtu > headers ? mtu - headers : 0;
}

int Udp::rx_burst(Instant, core::RxBurst* out, int max) {
  rx_.recycle();
  // A stream of unusable datagrams must not prevent the caller from running timers and sending.
  for (int round = 0; round < kUselessRounds; ++round) {
    if (!rx_.any_ready()) poll_descriptors(epoll_.get(), &rx_, &tx_);
    if (!rx_.any_ready()) return 0;
    if (const int got = rx_.receive(out, max, &counters_); got > 0) return got;
  }
  return 0;
}

int Udp::tx_burst(Instant, const core::TxBurst* const* bursts, int n) {
  for (int i = 0; i < n; ++i)
    if (!tx_.send(*bursts[i], &counters_)) return i;
  return n;
}

// SRv6 leads to one host. A group needs a socket for each IP version of the planes.
uint32_t Udp::max_groups() const {
  if (srv6_) return 0;
  bool v4 = false, v6 = false;
  for (const HostPlane& plane : planes_) (group_source_address(plane.addr).is_v4() ? v4 : v6) = true;
  return rx_.sockets().max_group_sockets() / (v4 && v6 ? 2 : 1);
}

Result<PerPlane<core::PlaneAddress>> Udp::group_sources() {
  if (srv6_) return Error{EOPNOTSUPP, "SRv6 carries no multicast"};
  return tx_.open_group_sources(planes_);
}

std::string Udp::describe() const {
  const char* kind = kernel_encapsulates_ ? "udp with SRv6 by the kernel: " : srv6_ ? "udp with SRv6: " : "udp: ";
  std::string text = kind + std::to_string(planes_.size()) + " planes, " + std::to_string(tx_.evs().size()) +
                     " EVs, GSO " + (gso() ? "on" : "off") + ", GRO " + (gro_ ? "on" : "off") + ", receive buffer " +
                     std::to_string(rx_.sockets().granted()) + ", send buffer " +
                     std::to_string(tx_.sockets().granted()) + " bytes\n";
  for (const PlaneId p : planes_.ids()) {
    const Interface& i = interfaces_[p];
    if (closed_.contains(p)) {
      text += "plane " + std::to_string(port_of(p)) + ": out: " + closed_.why(p) + "\n";
      continue;
    }
    text += "plane " + std::to_string(p.value() + 1) + ": " + planes_[p].addr.to_string() + " port " +
            std::to_string(rx_.sockets().port(p)) + " on " + (i.name.empty() ? "?" : i.name) + ", MTU " +
            std::to_string(i.mtu) +
            (kernel_encapsulates_ && !gso_planes_.contains(p) ? ", no segmentation offload" : "") +
            (srv6_ && !kernel_encapsulates_ ? gso_planes_.contains(p) ? ", UDP checksums" : ", no UDP checksums" : "") +
            "\n";
  }
  if (tx_.planes_without_gso().intersects(gso_planes_))
    text += "an interface refused segmentation: GSO given up there\n";
  if (!tx_.first_error().empty()) text += "first send error: " + tx_.first_error() + "\n";
  return text;
}

}  // namespace

Result<std::unique_ptr<UdpDatapath>> UdpDatapath::open(const UdpConfig& config) {
  UdpConfig full = config;
  if (full.syscalls == nullptr) full.syscalls = &kernel_syscalls();
  auto udp = std::make_unique<Udp>();
  if (Status started = udp->start(full); !started) return std::move(started).error();
  return udp;
}

}  // namespace mrc::datapath
