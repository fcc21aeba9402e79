#include "rdma_cm/sockets.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rdma_cm/addresses.h"

namespace mrc::shim::rdma_cm {

namespace {

struct Control {
  alignas(cmsghdr) char bytes[256];
};

void turn_on(int fd, int level, int option) {
  const int on = 1;
  setsockopt(fd, level, option, &on, sizeof on);  // without it a refusal is noticed by time, an address by routing
}

// Room for a message of each of a thousand clients that come at once: the kernel counts 768 bytes for a small one.
// Beyond the system's limit where this process may, else as far as that. [CM-LIM-4]
void enlarge_receive_buffer(int fd) {
  const int bytes = 1 << 20;
  int has = 0;  // twice what was asked for, of which the kernel's own data takes a part
  socklen_t size = sizeof has;
  if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &has, &size) == 0 && has >= 2 * bytes) return;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

void prepare(int fd, bool ipv6, bool ipv6_only) {
  enlarge_receive_buffer(fd);
  if (ipv6) {
    const int only = ipv6_only ? 1 : 0;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    turn_on(fd, IPPROTO_IPV6, IPV6_RECVERR);
    turn_on(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
  }
  turn_on(fd, IPPROTO_IP, IP_RECVERR);
  turn_on(fd, IPPROTO_IP, IP_PKTINFO);
}

// The own address of a datagram that arrived.
void take_destination(const cmsghdr* c, cm::Address* to) {
  if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
    in_pktinfo info;
    std::memcpy(&info, CMSG_DATA(c), sizeof info);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr = info.ipi_addr;
    to->ip = from_sockaddr(&address, sizeof address)->ip;
  } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
    in6_pktinfo info;
    std::memcpy(&info, CMSG_DATA(c), sizeof info);
    std::memcpy(to->ip.data(), &info.ipi6_addr, 16);
    to->scope = IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr) ? info.ipi6_ifindex : 0;
  }
}

// Sends from this own address.
void put_source(msghdr* message, Control* control, const cm::Address& local) {
  message->msg_control = control->bytes;
  const bool ipv4 = is_ipv4(local);
  const size_t size = ipv4 ? sizeof(in_pktinfo) : sizeof(in6_pktinfo);
  message->msg_controllen = CMSG_SPACE(size);
  cmsghdr* const c = CMSG_FIRSTHDR(message);
  c->cmsg_level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
  c->cmsg_type = ipv4 ? IP_PKTINFO : IPV6_PKTINFO;
  c->cmsg_len = CMSG_LEN(size);
  if (ipv4) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, &local.ip[12], 4);
    std::memcpy(CMSG_DATA(c), &info, sizeof info);
  } else {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, local.ip.data(), 16);
    info.ipi6_ifindex = local.scope;
    std::memcpy(CMSG_DATA(c), &info, sizeof info);
  }
}

}  // namespace

std::shared_ptr<Socket> Socket::bind(const cm::Address& wanted, const Options& options, uint32_t number) {
  const bool ipv6 = !is_ipv4(wanted);
  Fd opened(socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!opened) return nullptr;
  std::shared_ptr<Socket> made(new Socket(std::move(opened), ipv6, number));
  const int fd = made->fd();
  prepare(fd, ipv6, options.ipv6_only);
  if (wanted.port != 0) made->set_reusable(options.reusable);  // a free port is one that no other socket has
  sockaddr_storage address;
  socklen_t size = to_sockaddr(wanted, ipv6, &address);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) {
    const int error = errno;
    made.reset();
    errno = error;
    return nullptr;
  }
  size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  made->address_ = from_sockaddr(&address, size).value_or(wanted);
  made->set_reusable(options.reusable);
  return made;
}

void Socket::set_reusable(bool reusable) {
  const int value = reusable ? 1 : 0;
  setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &value, sizeof value);
}

void Socket::send(const cm::Path& path, const std::vector<uint8_t>& bytes) {
  sockaddr_storage remote;
  Control control{};
  iovec data = {const_cast<uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_name = &remote;
  message.msg_namelen = to_sockaddr(path.remote, ipv6_, &remote);
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!is_any(path.local) && is_ipv4(path.local) == is_ipv4(path.remote)) put_source(&message, &control, path.local);
  // The refusal of an earlier datagram is returned once; it is in the error queue as well. Whatever else fails is as
  // good as lost on the way.
  for (int i = 0; i < 2 && sendmsg(fd_.get(), &message, MSG_NOSIGNAL) < 0 && errno == ECONNREFUSED; ++i) {
  }
}

int Socket::receive(Burst* burst) {
  constexpr int kSize = Burst::kSize;
  sockaddr_storage from[kSize];
  Control control[kSize];
  iovec data[kSize];
  mmsghdr messages[kSize];
  for (int i = 0; i < kSize; ++i) {
    data[i] = {burst->bytes[i], sizeof burst->bytes[i]};
    msghdr& message = messages[i].msg_hdr;
    message = {};
    message.msg_name = &from[i];
    message.msg_namelen = sizeof from[i];
    message.msg_iov = &data[i];
    message.msg_iovlen = 1;
    message.msg_control = control[i].bytes;
    message.msg_controllen = sizeof control[i].bytes;
  }
  int n = recvmmsg(fd_.get(), messages, kSize, 0, nullptr);
  for (int i = 0; i < 8 && n < 0 && errno != EAGAIN; ++i)  // a refusal, which is in the error queue as well
    n = recvmmsg(fd_.get(), messages, kSize, 0, nullptr);
  for (int i = 0; i < n; ++i) {
    msghdr& message = messages[i].msg_hdr;
    cm::Arrival& arrival = burst->arrivals[i];
    burst->sizes[i] = messages[i].msg_len;
    arrival.socket = number_;
    arrival.from = from_sockaddr(&from[i], message.msg_namelen).value_or(cm::Address{});
    arrival.to = address_;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c))
      take_destination(c, &arrival.to);
  }
  return std::max(n, 0);
}

bool Socket::receive_refused(std::vector<uint8_t>* bytes) {
  for (;;) {
    bytes->resize(cm::kMaxMessageBytes);
    Control control{};
    iovec data = {bytes->data(), bytes->size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    const ssize_t n = recvmsg(fd_.get(), &message, MSG_ERRQUEUE);
    if (n < 0) return false;
    bytes->resize(static_cast<size_t>(n));
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (!(c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) &&
          !(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
        continue;
      sock_extended_err error;
      std::memcpy(&error, CMSG_DATA(c), sizeof error);
      if (error.ee_errno == ECONNREFUSED) return true;
    }
  }
}

}  // namespace mrc::shim::rdma_cm
