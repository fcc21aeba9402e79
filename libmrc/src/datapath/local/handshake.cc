#include "datapath/local/handshake.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "datapath/holder.h"
#include "datapath/local/pipe.h"

namespace mrc::datapath {

namespace {

constexpr int kBacklog = 128;
constexpr int kWakesAtOnce = 16;
constexpr uid_t kOverflowUid = 65534;  // in a user namespace every unmapped user appears as this one

socklen_t name_of(const LocalAddress& at, sockaddr_un* out) {
  *out = {};
  out->sun_family = AF_UNIX;
  const std::string name = "mrc-local/" + at.addr.to_string() + "/" + std::to_string(at.port);
  std::memcpy(out->sun_path + 1, name.data(), name.size());  // at most 60 bytes, of 107
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

Fd socket_local() {
  return Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

bool is_same_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == ::geteuid() && peer.uid != kOverflowUid;
}

Fd listen_local(const LocalAddress& at) {
  Fd s = socket_local();
  sockaddr_un name;
  const socklen_t length = name_of(at, &name);
  if (!s || ::bind(s.get(), reinterpret_cast<sockaddr*>(&name), length) != 0 || ::listen(s.get(), kBacklog) != 0)
    return {};
  return s;
}

std::string listener_of(const LocalAddress& at) {
  sockaddr_un name;
  const socklen_t length = name_of(at, &name);
  return taken_by(holder_of_unix_name(name, length, SOCK_SEQPACKET));
}

Fd connect_local(const LocalAddress& to) {
  Fd s = socket_local();
  sockaddr_un name;
  const socklen_t length = name_of(to, &name);
  if (!s || ::connect(s.get(), reinterpret_cast<sockaddr*>(&name), length) != 0) return {};
  if (is_same_user(s.get())) return s;
  errno = EPERM;
  return {};
}

bool send_pipe_request(int socket, int memory) {
  const PipeRequest request{kPipeRequestMagic, sizeof(PipeMemory)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof memory)] = {};
  iovec iov{const_cast<PipeRequest*>(&request), sizeof request};
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  cmsghdr* const c = CMSG_FIRSTHDR(&msg);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof memory);
  std::memcpy(CMSG_DATA(c), &memory, sizeof memory);
  return ::sendmsg(socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof request);
}

Handshake receive_pipe_request(int socket, Fd* memory) {
  PipeRequest request{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec iov{&request, sizeof request};
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = CMSG_LEN(sizeof(int));  // not CMSG_SPACE, in which a second descriptor would have room
  const ssize_t got = ::recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Handshake::kNothing : Handshake::kBad;
  const cmsghdr* const c = CMSG_FIRSTHDR(&msg);
  if (c != nullptr && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
      c->cmsg_len >= CMSG_LEN(sizeof(int))) {
    int number;
    std::memcpy(&number, CMSG_DATA(c), sizeof number);
    *memory = Fd(number);
  }
  const bool whole = got == static_cast<ssize_t>(sizeof request) && (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  const bool ours = request.magic == kPipeRequestMagic && request.memory_bytes == sizeof(PipeMemory);
  return whole && ours && *memory ? Handshake::kMessage : Handshake::kBad;
}

bool send_pipe_reply(int socket, const PipeReply& reply) {
  return ::send(socket, &reply, sizeof reply, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof reply);
}

Handshake receive_pipe_reply(int socket, PipeReply* reply) {
  const ssize_t got = ::recv(socket, reply, sizeof *reply, MSG_DONTWAIT | MSG_TRUNC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Handshake::kNothing : Handshake::kBad;
  const bool ours = got == static_cast<ssize_t>(sizeof *reply) && reply->magic == kPipeReplyMagic &&
                    reply->count <= kMaxLocalAddresses;
  return ours ? Handshake::kMessage : Handshake::kBad;
}

void send_wake(int socket) {
  [[maybe_unused]] const ssize_t sent = ::send(socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool receive_wakes(int socket) {
  for (int i = 0; i < kWakesAtOnce; ++i) {
    char byte;
    const ssize_t got = ::recv(socket, &byte, 1, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got != 1) return false;
  }
  return true;
}

}  // namespace mrc::datapath
