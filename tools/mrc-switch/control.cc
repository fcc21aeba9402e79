#include "control.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "switch_client.h"
#include "topology.h"

namespace mrc::softswitch {
namespace {

constexpr size_t kMaxRequest = 256;
constexpr size_t kMaxClients = 16;      // beyond this the oldest has been silent for too long
constexpr int kSendBuffer = 256 << 10;  // an answer fits, so that sending never waits

}  // namespace

ControlServer::ControlServer(const std::string& path) : path_(path) {
  const sockaddr_un address = fabric::socket_address(path);
  if (fabric::query_switch(path, "show"))
    throw fabric::FabricError(path + " belongs to a switch that is running; end it first, or use --socket");
  unlink(path.c_str());
  listener_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const mode_t before = umask(0077);
  const bool bound =
      listener_ && bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (!bound || listen(listener_.get(), kMaxClients) != 0 ||
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &wanted) != 0)
    throw fabric::FabricError(path + ": " + std::strerror(errno));
}

ControlServer::~ControlServer() {
  unlink(path_.c_str());
}

void ControlServer::accept_all() {
  for (;;) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &wanted);
    clients_.push_back({std::move(fd), {}});
    if (clients_.size() > kMaxClients) clients_.pop_front();
  }
}

bool ControlServer::serve_client(Client* client, const Answer& answer) {
  char buffer[kMaxRequest];
  const ssize_t n = read(client->fd.get(), buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) return true;
  client->request.append({buffer, static_cast<size_t>(n)});
  const auto line = client->request.next();
  if (!line) return client->request.unfinished() > kMaxRequest;
  const std::string text = answer(std::string(*line)) + "\n";
  // A truncated answer lacks its line end.
  (void)send(client->fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return true;
}

void ControlServer::serve(const Answer& answer) {
  accept_all();
  std::erase_if(clients_, [&](Client& c) { return serve_client(&c, answer); });
}

}  // namespace mrc::softswitch
