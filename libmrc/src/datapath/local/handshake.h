// Set-up of a pipe between two processes of a host: Unix sockets in the abstract namespace, which belongs to the
// network namespace as the addresses do. A receiver at ADDRESS and PORT listens under the name made of both; a sender
// connects there and passes the memory of a pipe (PipeRequest). The answer (PipeReply) lists every address and port of
// the receiver. The connection stays open: with a byte the sender wakes a sleeping receiver, and its end signals that a
// side has ended.
//
// Both sides must belong to one user: the writer of the pipe is trusted with this user's data [MRC-LOCAL-1]
// [MRC-LOCAL-3].
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/ip.h"
#include "fd.h"

namespace mrc::datapath {

struct LocalAddress {
  IpAddress addr;
  uint16_t port = 0;
  friend bool operator==(const LocalAddress& a, const LocalAddress& b) { return a.port == b.port && a.addr == b.addr; }
  template <typename H>
  friend H AbslHashValue(H h, const LocalAddress& a) {
    return H::combine(std::move(h), a.addr, a.port);
  }
};

inline constexpr uint32_t kMaxLocalAddresses = 64;

struct PipeRequest {
  uint32_t magic;
  uint32_t memory_bytes;  // of the pipe; with it the versions of the two sides are compared
};
struct PipeReply {
  uint32_t magic;
  uint32_t count;
  LocalAddress addresses[kMaxLocalAddresses];
};
inline constexpr uint32_t kPipeRequestMagic = 0x4D525031;  // "MRP1"
inline constexpr uint32_t kPipeReplyMagic = 0x4D525731;    // "MRW1"

// Invalid: errno; EADDRINUSE when another process listens there.
Fd listen_local(const LocalAddress& at);
// That process, for a message: ", taken by user ..."; empty if unknown.
std::string listener_of(const LocalAddress& at);
// Connected to a process of this user. Invalid: errno; ECONNREFUSED: no process listens, EPERM: another user's does.
Fd connect_local(const LocalAddress& to);
// True if the other side of a connection is a process of this user.
bool is_same_user(int socket);

enum class Handshake : uint8_t { kMessage, kNothing, kBad };  // kBad: the other side has closed, or sent something else

bool send_pipe_request(int socket, int memory);
Handshake receive_pipe_request(int socket, Fd* memory);
bool send_pipe_reply(int socket, const PipeReply& reply);
Handshake receive_pipe_reply(int socket, PipeReply* reply);

// One byte. A receiver with unread bytes is awake, so that a full buffer is harmless.
void send_wake(int socket);
// Reads wakes. False: the other side has closed, or sent something else.
bool receive_wakes(int socket);

}  // namespace mrc::datapath
