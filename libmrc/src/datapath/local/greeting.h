// How two processes of a host come by a pipe: Unix sockets in the abstract namespace, which belongs to the network
// namespace as the addresses do. Whoever receives at ADDRESS and PORT listens under the name made of both; whoever
// sends there connects, and hands over the memory of a pipe (Hello). The answer (Welcome) names every address and port
// of the receiver. The connection stays: by a byte the sender wakes a receiver that sleeps, and its end tells that a
// side has gone.
//
// Both sides must belong to one user: whoever writes into the pipe is trusted with this user's data [MRC-LOCAL-1]
// [MRC-LOCAL-3].
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/ip.h"
#include "datapath/fd.h"

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

struct Hello {
  uint32_t magic;
  uint32_t memory_bytes;  // of the pipe; with it the versions of the two sides are compared
};
struct Welcome {
  uint32_t magic;
  uint32_t count;
  LocalAddress addresses[kMaxLocalAddresses];
};
inline constexpr uint32_t kHelloMagic = 0x4D525031;    // "MRP1"
inline constexpr uint32_t kWelcomeMagic = 0x4D525731;  // "MRW1"

// Invalid: errno; EADDRINUSE when somebody else listens there.
Fd listen_local(const LocalAddress& at);
// Who does, for a message: ", taken by user ..."; empty when it is not known.
std::string listener_of(const LocalAddress& at);
// Connected to a process of this user. Invalid: errno; ECONNREFUSED when nobody listens, EPERM when somebody else does.
Fd connect_local(const LocalAddress& to);
// The other side of a connection is a process of this user.
bool is_same_user(int socket);

enum class Greeting : uint8_t { kMessage, kNothing, kBad };  // kBad: the other side has closed, or sent something else

bool send_hello(int socket, int memory);
Greeting receive_hello(int socket, Fd* memory);
bool send_welcome(int socket, const Welcome& welcome);
Greeting receive_welcome(int socket, Welcome* welcome);

// One byte. A receiver that has not read the last ones is awake: nothing is lost when there is no room.
void send_wake(int socket);
// Reads wakes. False: the other side has closed, or sent something else.
bool receive_wakes(int socket);

}  // namespace mrc::datapath
