// Which device serves an IP address, and with which GID.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <map>

#include "cm/message.h"

namespace mrc::shim::rdma_cm {

struct Port {
  const ibv_device* device = nullptr;  // null: none
  uint64_t guid = 0;                   // network order
  std::array<uint8_t, 16> gid{};
  uint8_t gid_index = 0;
  uint8_t mtu = IBV_MTU_4096;
};

// Keeps each device open that it has looked at, as librdmacm does itself from its first address on: opening one anew
// for every address takes milliseconds.
class Ports {
 public:
  // The device that has the address as a GID; if there is none, the first one: the addresses by which applications
  // find each other need not be those of the planes. [CM-DEV-1]
  Port port_for(const cm::Address& local);

 private:
  // Null: it cannot be opened.
  ibv_context* opened(const ibv_device* device);

  std::map<const ibv_device*, ibv_context*> opened_;
};

}  // namespace mrc::shim::rdma_cm
