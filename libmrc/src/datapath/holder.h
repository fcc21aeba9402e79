// The holder of a name or a port that this process requires, for messages, so that a user can identify it. An
// unprivileged process can read: the user of every socket (/proc/net), the process behind a Unix socket (SO_PEERCRED),
// the owner of a file. The process behind a UDP or TCP port is only known for processes of one's own user, or to root.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/ip.h"

namespace mrc::datapath {

struct Holder {
  uid_t uid = 0;
  pid_t pid = 0;  // 0: unknown
};

// The socket bound to `port`, of this address or of any. None: no holder, or it ended meanwhile.
std::optional<Holder> holder_of_udp_port(const IpAddress& address, uint16_t port);
std::optional<Holder> holder_of_tcp_port(const IpAddress& address, uint16_t port);
// The listener at the name of a Unix socket. `type`: SOCK_STREAM or SOCK_SEQPACKET.
std::optional<Holder> holder_of_unix_name(const sockaddr_un& name, socklen_t length, int type);
std::optional<Holder> holder_of_file(const std::string& path);
// The holder of the flock() lock that this open file did not get.
std::optional<Holder> holder_of_lock(int fd);

// The user of a TCP connection of this host, from its own end's address and port to the port `to`.
std::optional<uid_t> user_of_connection(const IpAddress& address, uint16_t port, uint16_t to);

// ", taken by user 1000, process 4711 (python3)"; empty for none.
std::string taken_by(const std::optional<Holder>& holder);

}  // namespace mrc::datapath
