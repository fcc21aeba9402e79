// The peer of a Unix socket and its privileges. [MRC-MRCD-2]
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace mrc::mrcd {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  bool privileged = false;  // may change the shared state
  std::string user;         // its name, or the number
};

// The kernel's data about it.
struct Credentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  bool net_admin = false;  // CAP_NET_ADMIN in our user namespace
};
std::optional<Credentials> credentials_of(int socket);

// CAP_NET_ADMIN, or membership of the group (name or number; empty: none).
bool may_control(const Credentials& client, const std::string& group);

Peer peer_of(const Credentials& client, const std::string& group);

}  // namespace mrc::mrcd
