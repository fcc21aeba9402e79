// Two hosts and a switch in network namespaces, joined by virtual links, one of each host per plane: for tests of
// datapaths that make whole frames. On the plane that counts as n from 1, host 0 has the address fc00:n:1::, host 1
// fc00:n:2::, and the switch the uSID 5a, which the kernel shifts away.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/ip.h"

namespace mrc::datapath {

class Link {
 public:
  // Empty, or what keeps this machine from having one.
  static std::string why_not();

  explicit Link(uint32_t planes);
  ~Link();
  Link(const Link&) = delete;
  IpAddress address(uint32_t plane, int side) const;
  // Runs with a namespace (host 0, host 1, 2: the switch) as this thread's: sockets opened there stay there.
  void inside(int place, const std::function<void()>& what) const;

 private:
  std::string name(int place) const;
  std::string base_;
};

}  // namespace mrc::datapath
