// Port numbers of clients that are not bound to one. [CM-PORT-3]
#include "rdma_cm/client_ports.h"

#include <gtest/gtest.h>

#include <set>

namespace mrc::shim::rdma_cm {
namespace {

TEST(ClientPorts, begin_at_the_socket_and_are_all_different) {
  ClientPorts ports;
  constexpr uint16_t kOwn = 40000;
  EXPECT_EQ(ports.next(kOwn), kOwn);
  std::set<uint16_t> seen = {kOwn};
  for (int i = 1; i < UINT16_MAX - ClientPorts::kLowest + 1; ++i) {
    const uint16_t port = ports.next(kOwn);
    EXPECT_GE(port, ClientPorts::kLowest);
    EXPECT_TRUE(seen.insert(port).second) << port;
  }
  EXPECT_EQ(ports.next(kOwn), kOwn);  // all have had their turn
}

}  // namespace
}  // namespace mrc::shim::rdma_cm
