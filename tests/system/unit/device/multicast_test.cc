// Multicast groups of a device of this host after fork(). Without the kernel: tests/fast/unit/device/multicast_test.cc.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "device/registry.h"
#include "device_fixture.h"
#include "fd.h"
#include "harness/datagram_qps.h"

namespace mrc::device {
namespace {

// Before, the child took the parent's socket from the epoll set that both have. [API-UD-5]
TEST(MulticastFork, a_child_leaves_the_datapath_alone) {
  DatagramQps qps;
  auto opened = open_device(nullptr);
  ASSERT_TRUE(opened) << opened.error().text;
  const std::shared_ptr<Device> device(*opened, &(*opened)->first());
  qps.create(device.get());
  ASSERT_EQ(qps.attach(0, 1), 0);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {  // no gtest in here: the exit status is the result
    const bool refused = qps.attach(0, 2) == EPERM && qps.attach(1, 1) == EPERM;
    ::_exit(refused && qps.detach(0, 1) == 0 && qps.detach(0, 1) == EINVAL ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const Fd socket(::socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(4791);
  to.sin_addr.s_addr = htonl(0xEF000001);  // 239.0.0.1
  const in_addr loopback{htonl(INADDR_LOOPBACK)};
  ASSERT_EQ(::setsockopt(socket.get(), IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback), 0);
  const auto undecodable = [&device] {
    const DeviceLock lock(device->mutex());
    return device->endpoint().counters().drop_decode;
  };
  const uint64_t before = undecodable();
  ASSERT_EQ(::sendto(socket.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to), 1);
  while (undecodable() == before) device->progress();
  EXPECT_EQ(qps.detach(0, 1), 0);
}

}  // namespace
}  // namespace mrc::device
