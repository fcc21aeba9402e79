// Life of the service: opening and closing of channels, the thread, fork, exit. [CM-FD-1] [CM-DEV-2]
#include "rdma_cm/service.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

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

Service::Service() : wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), endpoint_(random_key()) {}

Service* Service::current() {
  return the_service.load(std::memory_order_acquire);
}

Service* Service::made() {
  const MutexLock lock(making);
  if (Service* const there = current()) return there;
  static const bool registered = pthread_atfork(
                                     &before_fork, [] { after_fork(false); }, [] { after_fork(true); }) == 0;
  (void)registered;
  auto* service = new Service;
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
      for (const auto& channel : service->channels_) close(channel->write_end);
      for (const auto& socket : service->sockets_)
        if (const auto open = socket.lock()) close(open->fd());
      close(service->wake_fd_);
      the_service.store(nullptr);  // forgotten, with what it has
    }
    service->mutex_.unlock();
  }
  making.unlock();
}

int Service::open(int flags) {
  return made()->open_channel(flags);
}

int Service::open_channel(int flags) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  struct stat file;
  describe(ends[0], &file);
  if ((flags & O_CLOEXEC) == 0) fcntl(ends[0], F_SETFD, 0);
  if ((flags & O_NONBLOCK) == 0) fcntl(ends[0], F_SETFL, O_RDONLY);
  auto channel = std::make_unique<Channel>();
  channel->device = file.st_dev;
  channel->inode = file.st_ino;
  channel->write_end = ends[1];
  const MutexLock lock(mutex_);
  channels_.push_back(std::move(channel));
  wake();
  return ends[0];
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
  std::vector<Id*> own;
  for (const auto& [handle, id] : ids_)
    if (id->channel == channel) own.push_back(id.get());
  for (Id* const id : own)
    if (ids_.count(id->handle) != 0) destroy(id);
  close(channel->write_end);
  channels_.erase(std::find_if(channels_.begin(), channels_.end(), [&](const auto& c) { return c.get() == channel; }));
}

void Service::wake() {
  const uint64_t one = 1;
  if (::write(wake_fd_, &one, sizeof one) < 0) return;  // it is awake
}

void Service::receive(Socket* socket) {
  const uint64_t now = Context::now();
  constexpr int kBurst = 64;
  std::vector<uint8_t> bytes;
  cm::Arrival arrival;
  for (int i = 0; i < kBurst && socket->receive(&arrival, &bytes); ++i)
    endpoint_.on_datagram(now, arrival, bytes.data(), bytes.size());
  for (int i = 0; i < kBurst && socket->receive_refused(&bytes); ++i)
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
      for (const auto& s : sockets_)
        if ((held = s.lock()) != nullptr && held->number() == transmit->path.socket) break;
      socket = held.get();
    }
    if (socket != nullptr) socket->send(transmit->path, transmit->bytes);
  }
}

void Service::loop() {
  std::vector<pollfd> fds;
  std::vector<std::shared_ptr<Socket>> sockets;
  for (;;) {
    int timeout = -1;
    size_t channels = 0;
    {
      const MutexLock lock(mutex_);
      if (ended_) return;
      drive();
      fds.assign(1, {wake_fd_, POLLIN, 0});
      for (const auto& channel : channels_) fds.push_back({channel->write_end, 0, 0});
      channels = channels_.size();
      sockets.clear();
      for (const auto& socket : sockets_)
        if (auto open = socket.lock()) sockets.push_back(std::move(open));
      for (const auto& socket : sockets) fds.push_back({socket->fd(), POLLIN, 0});
      const uint64_t now = Context::now(), deadline = endpoint_.deadline();
      if (deadline != cm::kNever)
        timeout = deadline <= now ? 0 : static_cast<int>(std::min<uint64_t>((deadline - now) / cm::kMs + 1, 60'000));
    }
    if (poll(fds.data(), fds.size(), timeout) <= 0) continue;
    uint64_t ignored;
    if (fds[0].revents != 0 && read(wake_fd_, &ignored, sizeof ignored) < 0) ignored = 0;
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < sockets.size(); ++i)
      if (fds[1 + channels + i].revents != 0) receive(sockets[i].get());
    for (size_t i = 1; i <= channels; ++i) {
      if ((fds[i].revents & (POLLERR | POLLNVAL)) == 0) continue;
      const auto gone = std::find_if(channels_.begin(), channels_.end(),
                                     [&](const auto& channel) { return channel->write_end == fds[i].fd; });
      if (gone != channels_.end()) close_channel(gone->get());
    }
    sockets_.erase(std::remove_if(sockets_.begin(), sockets_.end(), [](const auto& s) { return s.expired(); }),
                   sockets_.end());
    sockets.clear();
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
