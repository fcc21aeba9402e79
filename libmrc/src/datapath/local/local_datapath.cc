#include "datapath/local/local_datapath.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "datapath/local/inbound.h"
#include "datapath/local/outbound.h"
#include "datapath/local/poll_order.h"

namespace mrc::datapath {

namespace {

constexpr Duration kDescriptorPollInterval = Duration::milliseconds(1);  // they become readable rarely
constexpr int kEventsAtOnce = 32;
constexpr int kAtOnce = 4;  // bursts: what the engine reads next should still be in the cache

class Local final : public LocalDatapath {
 public:
  Local(std::unique_ptr<HostDatapath> inner, Fd epoll)
      : inner_(std::move(inner)),
        epoll_(std::move(epoll)),
        in_(epoll_.get()),
        out_(epoll_.get()),
        notes_(inner_->notes()),
        advice_(inner_->advice()) {}

  void open(const HostConfig& config);

  int rx_burst(Instant now, core::RxBurst* out, int max) override;
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override;
  void flush() override { inner_->flush(); }
  PlaneSet planes_with_room() override { return inner_->planes_with_room(); }
  void before_wait() override;
  void after_wait() override {
    waiting_ = false;
    inner_->after_wait();
  }
  int wait_fds(int* out, int max) const override {
    const int n = inner_->wait_fds(out, max);
    if (n >= max || !epoll_) return n;
    out[n] = epoll_.get();
    return n + 1;
  }
  Instant next_timeout() const override { return inner_->next_timeout(); }
  uint32_t max_segments() const override { return inner_->max_segments(); }
  uint32_t max_burst_bytes() const override { return inner_->max_burst_bytes(); }
  uint32_t receive_room() const override { return inner_->receive_room(); }
  std::optional<TooLong> take_too_long() override { return inner_->take_too_long(); }
  const ClosedPlanes& closed_planes() const override { return inner_->closed_planes(); }
  Status open_plane(PlaneId plane, const IpAddress& addr) override;
  uint32_t max_groups() const override { return inner_->max_groups(); }
  Result<PerPlane<core::PlaneAddress>> group_sources() override { return inner_->group_sources(); }
  Status join_group(const PerPlane<core::PlaneAddress>& group) override { return inner_->join_group(group); }
  void leave_group(const PerPlane<core::PlaneAddress>& group) override { inner_->leave_group(group); }
  uint32_t take_ended_pipe() override { return in_.take_ended(); }
  const DatapathCounters& counters() override;
  std::string describe() const override;

  void request_pipe(Instant now, const IpAddress& addr, uint16_t port) override {
    if (pipes_) out_.request_pipe(now, {addr, port});
  }
  size_t pipes_out() const override { return out_.peers(); }
  size_t pipes_in() const override { return in_.peers(); }

  uint16_t plane_port(PlaneId plane) const override { return inner_->plane_port(plane); }
  const PerEv<core::EvEntry>& evs() const override { return inner_->evs(); }
  uint32_t plane_payload(PlaneId plane) const override { return inner_->plane_payload(plane); }
  const std::vector<std::string>& advice() const override { return advice_; }
  std::string exposure() const override { return inner_->exposure(); }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  void poll_descriptors(Instant now);
  LocalOutbound::Sent send_local(Instant now, const core::TxBurst& burst);
  int poll_driver(Instant now, core::RxBurst* out, int max);
  int poll_pipes(core::RxBurst* out, int max);

  std::unique_ptr<HostDatapath> inner_;
  Fd epoll_;
  LocalInbound in_;
  LocalOutbound out_;
  std::vector<std::string> notes_, advice_;
  Instant now_, next_descriptor_poll_;
  bool pipes_ = false;  // available
  bool waiting_ = false;
  PollOrder order_;
  DatapathCounters own_;
  DatapathCounters sum_;
};

// A bound interface, as link-local addresses need it, may mean that an address exists twice on this host: a name made
// of it would not be unique.
void Local::open(const HostConfig& config) {
  std::vector<LocalAddress> planes;
  Status opened = epoll_ ? Status() : failed_call("epoll");
  for (size_t p = 0; p < config.planes.size(); ++p) {
    if (!config.planes[p].interface.empty())
      opened = Error{EOPNOTSUPP, "plane " + std::to_string(p + 1) + " is bound to an interface"};
    if (inner_->closed_planes().contains(plane_at(p)))
      planes.emplace_back();
    else
      planes.push_back({config.planes[p].addr, inner_->plane_port(plane_at(p))});
  }
  if (opened) opened = in_.open(std::move(planes));
  pipes_ = opened.has_value();
  if (pipes_) return;
  // The port is ours, so no other process of this software listens at the corresponding name.
  (opened.error().code == EADDRINUSE ? advice_ : notes_)
      .push_back("no shared memory with other processes of this host: " + opened.error().text);
}

// Without a name of its own the plane's packets take the driver.
Status Local::open_plane(PlaneId plane, const IpAddress& addr) {
  Status opened = inner_->open_plane(plane, addr);
  if (opened && pipes_) (void)in_.add(plane, {addr, inner_->plane_port(plane)});
  return opened;
}

void Local::poll_descriptors(Instant now) {
  epoll_event events[kEventsAtOnce];
  const int n = ::epoll_wait(epoll_.get(), events, kEventsAtOnce, 0);
  for (int i = 0; i < n; ++i) static_cast<Watched*>(events[i].data.ptr)->readable = true;
  if (n <= 0 && !in_.is_due(now) && !out_.is_due(now)) return;
  try {
    in_.handle_descriptors(now);
    out_.handle_descriptors(now);
  } catch (const std::bad_alloc&) {  // a new peer continues to use the sockets
  }
  // A thread still waits, and its wake-up may have been read just now: the next burst has to wake it again.
  if (waiting_) in_.fall_asleep();
}

int Local::rx_burst(Instant now, core::RxBurst* out, int max) {
  in_.release();
  now_ = now;
  if (now >= next_descriptor_poll_) {
    next_descriptor_poll_ = now + kDescriptorPollInterval;
    poll_descriptors(now);
  }
  for (const PollOrder::Source source : order_.next_call(in_.mark_pipes_with_bursts())) {
    const int n = source == PollOrder::Source::kDriver ? poll_driver(now, out, max) : poll_pipes(out, max);
    if (n > 0) return n;
  }
  return 0;
}

int Local::poll_driver(Instant now, core::RxBurst* out, int max) {
  const int n = inner_->rx_burst(now, out, max);
  for (int i = 0; i < n; ++i) out[i].pipe = 0;
  if (order_.driver_polled(n)) in_.make_marked_readable();
  return n;
}

int Local::poll_pipes(core::RxBurst* out, int max) {
  const int n = in_.receive(out, std::min(max, kAtOnce));
  for (int i = 0; i < n; ++i) {
    own_.count_received(out[i]);
    own_.rx_local += out[i].segments();
  }
  return n;
}

LocalOutbound::Sent Local::send_local(Instant now, const core::TxBurst& burst) {
  try {
    return out_.send(now, burst);
  } catch (const std::bad_alloc&) {  // for the request: the burst has not been changed
    return LocalOutbound::Sent::kNotLocal;
  }
}

int Local::tx_burst(Instant now, const core::TxBurst* const* bursts, int n) {
  if (n == 0 || !pipes_) return inner_->tx_burst(now, bursts, n);
  for (int i = 0; i < n; ++i) {
    const core::TxBurst& burst = *bursts[i];
    switch (send_local(now, burst)) {
      case LocalOutbound::Sent::kNotLocal:
        if (!inner_->tx_one(now, burst)) return i;
        break;
      case LocalOutbound::Sent::kFull:  // lost, as in a full receive buffer of a socket
        own_.tx_local_full += burst.segments;
        break;
      case LocalOutbound::Sent::kYes:
        ++own_.tx_bursts;
        own_.tx_packets += burst.segments;
        own_.tx_local += burst.segments;
        own_.tx_bytes += burst.bytes;
        break;
    }
  }
  return n;
}

void Local::before_wait() {
  in_.release();
  waiting_ = true;
  poll_descriptors(now_);
  in_.fall_asleep();
  inner_->before_wait();
}

const DatapathCounters& Local::counters() {
  sum_ = inner_->counters();
  own_.rx_errors = in_.misaddressed();
  return sum_ += own_;
}

std::string Local::describe() const {
  std::string text = inner_->describe();
  if (!pipes_) return text;
  return text + "processes of this host: through shared memory, " + std::to_string(out_.peers()) + " towards and " +
         std::to_string(in_.peers()) + " from\n";
}

}  // namespace

std::unique_ptr<LocalDatapath> LocalDatapath::make(std::unique_ptr<HostDatapath> inner, const HostConfig& config) {
  auto local = std::make_unique<Local>(std::move(inner), Fd(::epoll_create1(EPOLL_CLOEXEC)));
  local->open(config);
  return local;
}

}  // namespace mrc::datapath
