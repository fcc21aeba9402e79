// Life of the service: opening and closing of channels, the thread, fork, exit. [CM-FD-1] [CM-DEV-2]
#include "rdma_cm/service.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "objects/context.h"
#include "rdma_cm/addresses.h"
#include "settings/log.h"

namespace mrc::shim::rdma_cm {

namespace {

constexpr uint64_t kSettleTime = 300 * cm::kMs;

std::atomic<Service*> the_service{nullptr};
Mutex making;

cm::Key random_key() {
  cm::Key key{};
  if (getrandom(key.data(), sizeof key, 0) != sizeof key) {  // never on a kernel that runs this
    key[0] = Context::now();
    key[1] = static_cast<uint64_t>(getpid());
  }
  return key;
}

}  // namespace

Service::Service(Wakeup wakeup, Fd poll_fd)
    : wakeup_(std::move(wakeup)), poller_(std::move(poll_fd)), endpoint_(random_key()) {
  poller_.add(wakeup_.fd(), EPOLLIN, tag(kWake, 0));
}

Service* Service::current() {
  return the_service.load(std::memory_order_acquire);
}

Service* Service::made() {
  const MutexLock lock(making);
  if (Service* const there = current()) return there;
  Wakeup wakeup = Wakeup::make();
  Fd poll_fd(epoll_create1(EPOLL_CLOEXEC));
  if (!wakeup || !poll_fd) return nullptr;
  static const bool registered = pthread_atfork(
                                     &before_fork, [] { after_fork(false); }, [] { after_fork(true); }) == 0;
  (void)registered;
  auto* service = new Service(std::move(wakeup), std::move(poll_fd));
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the application's
  std::thread([service] { service->loop(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  the_service.store(service, std::memory_order_release);
  return service;
}

void Service::before_fork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  making.lock();
  if (Service* const service = current()) service->mutex_.lock();
}

// The child has descriptors of the channels, which it can pass on and close, but not the thread: ids, sockets and
// connections are the parent's. Its copies are closed, so that the ports are free when the parent closes them.
void Service::after_fork(bool child) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (Service* const service = current()) {
    if (child) {
      for (const auto& channel : service->channels_) channel->write_end = Fd();
      for (const auto& [number, socket] : service->sockets_)
        if (const auto open = socket.lock()) open->close();
      for (const auto& socket : service->reply_)
        if (socket != nullptr) socket->close();
      service->wakeup_ = Wakeup();
      service->poller_.close();
      the_service.store(nullptr);  // forgotten, with what it has
    }
    service->mutex_.unlock();
  }
  making.unlock();
}

int Service::open(int flags) {
  Service* const service = made();
  return service != nullptr ? service->open_channel(flags) : -1;
}

int Service::open_channel(int flags) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  Fd read_end(ends[0]), write_end(ends[1]);
  struct stat file;
  describe(ends[0], &file);
  if ((flags & O_CLOEXEC) == 0) fcntl(ends[0], F_SETFD, 0);
  if ((flags & O_NONBLOCK) == 0) fcntl(ends[0], F_SETFL, O_RDONLY);
  auto channel = std::make_unique<Channel>();
  channel->device = file.st_dev;
  channel->inode = file.st_ino;
  channel->write_end = std::move(write_end);
  const MutexLock lock(mutex_);
  if (!poller_.add(ends[1], 0, tag(kChannel, static_cast<uint32_t>(ends[1]))))  // reports that no reader is left
    return -1;
  channels_.push_back(std::move(channel));
  return read_end.release();
}

Channel* Service::channel_of(uint64_t device, uint64_t inode) const {
  for (const auto& channel : channels_)
    if (channel->device == device && channel->inode == inode) return channel.get();
  return nullptr;
}

bool Service::is_channel(uint64_t device, uint64_t inode) const {
  const MutexLock lock(mutex_);
  return channel_of(device, inode) != nullptr;
}

// The last copy of its descriptor is closed.
void Service::close_channel(Channel* channel) {
  std::vector<uint32_t> own;  // handles, since an id takes those of its unreported connections with it
  for (const auto& [handle, id] : ids_)
    if (id->channel == channel) own.push_back(handle);
  for (const uint32_t handle : own)
    if (const auto it = ids_.find(handle); it != ids_.end()) destroy(it->second.get());
  poller_.remove(channel->write_end.get());
  channels_.erase(std::find_if(channels_.begin(), channels_.end(), [&](const auto& c) { return c.get() == channel; }));
}

void Service::wake() {
  sleeps_until_ = 0;
  wakeup_.wake();
}

void Service::wake_for_timers() {
  if (endpoint_.deadline() < sleeps_until_) wake();
}

void Service::receive(Socket* socket, bool refused) {
  const uint64_t now = Context::now();
  constexpr int kMax = 64;
  Socket::Burst burst;
  for (int total = 0, n = Socket::Burst::kSize; total < kMax && n == Socket::Burst::kSize; total += n) {
    n = socket->receive(&burst);
    for (int i = 0; i < n; ++i) endpoint_.on_datagram(now, burst.arrivals[i], burst.bytes[i], burst.sizes[i]);
  }
  std::vector<uint8_t> bytes;
  for (int i = 0; i < kMax && refused && socket->receive_refused(&bytes); ++i)
    endpoint_.on_refused(now, bytes.data(), bytes.size());
}

void Service::drive() {
  endpoint_.on_timeout(Context::now());
  while (const auto event = endpoint_.poll_event()) on_event(*event);
  while (const auto transmit = endpoint_.poll_transmit()) {
    Socket* socket = nullptr;
    std::shared_ptr<Socket> held;
    if (transmit->path.socket == cm::kReplySocket) {
      socket = reply_socket(is_ipv4(transmit->path.remote));
    } else {
      const auto found = sockets_.find(transmit->path.socket);
      if (found != sockets_.end()) held = found->second.lock();
      socket = held.get();
    }
    if (socket != nullptr) socket->send(transmit->path, transmit->bytes);
  }
  check();
}

// Ids, memberships, sockets and connections that refer to one another are there, and nothing has outlived its id.
void Service::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(id_of_connection_.size() <= ids_.size() && sockets_.size() <= ids_.size());
  if (!pace_.due(ids_.size() * (1 + channels_.size()) + multicasts_.size())) return;
  size_t connections = 0;
  for (const auto& [handle, id] : ids_) {
    MRC_INVARIANT(id->handle == handle);
    check(*id);
    connections += id->connection != 0;
  }
  MRC_INVARIANT(connections == id_of_connection_.size());
  for (const auto& [number, socket] : sockets_) MRC_INVARIANT(!socket.expired());
  for (const auto& [handle, joined] : multicasts_) MRC_INVARIANT(ids_.count(joined.of) != 0);
}

void Service::check(const Id& id) const {
  using State = Id::State;
  MRC_INVARIANT(std::any_of(channels_.begin(), channels_.end(), [&](const auto& c) { return c.get() == id.channel; }));
  MRC_INVARIANT((id.state == State::kConnection) == (id.connection != 0));
  if (id.connection != 0) {
    const auto found = id_of_connection_.find(id.connection);
    MRC_INVARIANT(found != id_of_connection_.end() && found->second == id.handle);
  }
  MRC_INVARIANT(id.bound ? id.state != State::kIdle : id.socket == nullptr);
  if (id.socket != nullptr) {
    const auto found = sockets_.find(id.socket->number());
    MRC_INVARIANT(found != sockets_.end() && found->second.lock() == id.socket);
  }
  if (id.state == State::kListening) MRC_INVARIANT(id.socket != nullptr && !id.binding.reusable);
  if (id.state == State::kAddressResolved || id.state == State::kRouteResolved)
    MRC_INVARIANT(id.port.device != nullptr);
}

bool Service::watch(const Socket& socket, Watched what, uint32_t number) {
  return poller_.add(socket.fd(), EPOLLIN, tag(what, number));
}

// What the tag names may be gone since.
void Service::serve(uint64_t what, uint32_t events) {
  const auto which = static_cast<uint32_t>(what);
  const bool refused = (events & EPOLLERR) != 0;
  switch (what >> 32) {
    case kWake:
      wakeup_.drain();
      return;
    case kChannel: {
      const auto gone = std::find_if(channels_.begin(), channels_.end(), [&](const auto& channel) {
        return channel->write_end.get() == static_cast<int>(which);
      });
      if (gone != channels_.end()) close_channel(gone->get());
      return;
    }
    case kSocket:
      if (const auto found = sockets_.find(which); found != sockets_.end())
        if (const auto open = found->second.lock()) receive(open.get(), refused);
      return;
    default:
      return receive(reply_[which].get(), refused);
  }
}

void Service::loop() {
  epoll_event ready[Poller::kBurst];
  for (;;) {
    int timeout = -1;
    {
      const MutexLock lock(mutex_);
      if (ended_) return;
      drive();
      const uint64_t now = Context::now(), deadline = endpoint_.deadline();
      if (deadline != cm::kNever)
        timeout = deadline <= now ? 0 : static_cast<int>(std::min<uint64_t>((deadline - now) / cm::kMs + 1, 60'000));
      sleeps_until_ = deadline;
    }
    const int n = poller_.wait(ready, timeout);
    const MutexLock lock(mutex_);
    sleeps_until_ = 0;
    for (int i = 0; i < n; ++i) serve(ready[i].data.u64, ready[i].events);
  }
}

void Service::settle() {
  Service* const service = current();
  if (service == nullptr) return;
  const uint64_t end = Context::now() + kSettleTime;
  for (bool first = true;; first = false) {
    {
      const MutexLock lock(service->mutex_);
      while (first && !service->ids_.empty()) service->destroy(service->ids_.begin()->second.get());
      service->drive();
      if (!service->endpoint_.disconnecting() || Context::now() > end) service->ended_ = true;
      service->wake();
      if (service->ended_) return;
    }
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace mrc::shim::rdma_cm
