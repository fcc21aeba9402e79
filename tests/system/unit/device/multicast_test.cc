// Multicast groups of a device: when the datapath receives for them, and what happens where it cannot. [MRC-UD-9]
// [MRC-UD-11]
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "core/datagram_receive_queue.h"
#include "datapath/mem/mem_datapath.h"
#include "device/device.h"
#include "device/registry.h"
#include "device_fixture.h"
#include "fd.h"

namespace mrc::device {
namespace {

// Carries nothing, and counts what it is asked for.
class GroupDatapath final : public datapath::Datapath {
 public:
  explicit GroupDatapath(int* joined) : joined_(joined) {}
  int rx_burst(Instant, core::RxBurst*, int) override { return 0; }
  int tx_burst(Instant, const core::TxBurst* const*, int n) override { return n; }
  PlaneSet planes_with_room() override { return PlaneSet::all(); }
  int wait_fds(int*, int) const override { return 0; }
  uint32_t max_segments() const override { return 1; }
  uint32_t max_burst_bytes() const override { return core::kMaxBurstBytes; }
  const datapath::DatapathCounters& counters() override { return counters_; }
  std::string describe() const override { return ""; }

  uint32_t max_groups() const override { return 2; }
  Result<PerPlane<core::PlaneAddress>> group_sources() override {
    return PerPlane<core::PlaneAddress>(4, {IpAddress::v4(127, 0, 0, 1), 1000});
  }
  Status join_group(const PerPlane<core::PlaneAddress>& group) override {
    if (group[0].addr == IpAddress::v4(239, 0, 0, 13)) return Error{ENOBUFS, "no room for another membership"};
    if (group[0].addr == IpAddress::v4(239, 0, 0, 14)) throw std::bad_alloc();
    ++*joined_;
    return {};
  }
  void leave_group(const PerPlane<core::PlaneAddress>&) override { --*joined_; }

 private:
  int* const joined_;
  datapath::DatapathCounters counters_;
};

class MulticastDeviceTest : public testing::Test, public core::QpSink {
 protected:
  bool on_completion(const core::Completion&) override { return true; }
  void on_event(core::AsyncEvent) override {}

  void start_over(std::unique_ptr<datapath::Datapath> datapath) {
    PerEv<core::EvEntry> evs;
    for (uint32_t i = 0; i < 16; ++i) evs.push_back({1000 + i, plane_at(i % 4)});
    device_ = Device::start_over(test_config(), std::move(datapath), evs, 0, false);
    create_qps();
  }
  void create_qps() {
    const DeviceLock lock(device_->mutex());
    for (size_t i = 0; i < 2; ++i) {
      core::DatagramQpInit init;
      init.sink = this;
      init.qpn = device_->qpns().take();
      init.receive = &queue_;
      qps_[i] = device_->endpoint().create_datagram_qp(init);
      ASSERT_NE(qps_[i], nullptr);
    }
  }
  int attach(size_t i, uint8_t last) {
    const DeviceLock lock(device_->mutex());
    return device_->attach_locked(qps_[i], IpAddress::v4(239, 0, 0, last));
  }
  int detach(size_t i, uint8_t last) {
    const DeviceLock lock(device_->mutex());
    return device_->detach_locked(qps_[i], IpAddress::v4(239, 0, 0, last));
  }

  uint64_t undecodable() {
    const DeviceLock lock(device_->mutex());
    return device_->endpoint().counters().drop_decode;
  }

  core::DatagramReceiveQueue queue_{4, 1, 1, true};
  std::shared_ptr<Device> device_;
  core::DatagramQp* qps_[2] = {};
  int joined_ = 0;
};

TEST_F(MulticastDeviceTest, attach__the_datapath_receives_while_there_is_a_member) {
  start_over(std::make_unique<GroupDatapath>(&joined_));
  EXPECT_EQ(attach(0, 1), 0);
  EXPECT_EQ(joined_, 1);
  EXPECT_EQ(attach(0, 1), 0);
  EXPECT_EQ(attach(1, 1), 0);
  EXPECT_EQ(joined_, 1);
  EXPECT_EQ(attach(1, 2), 0);
  EXPECT_EQ(joined_, 2);
  EXPECT_EQ(attach(1, 3), ENOMEM);  // more groups than the datapath receives
  EXPECT_EQ(detach(0, 1), 0);
  EXPECT_EQ(joined_, 2);
  EXPECT_EQ(detach(1, 1), 0);
  EXPECT_EQ(joined_, 1);
  EXPECT_EQ(detach(1, 1), EINVAL);
  EXPECT_EQ(attach(1, 3), 0);
  EXPECT_EQ(joined_, 2);
}

TEST_F(MulticastDeviceTest, attach__what_the_datapath_refuses_is_undone) {
  start_over(std::make_unique<GroupDatapath>(&joined_));
  EXPECT_EQ(attach(0, 13), ENOBUFS);
  EXPECT_EQ(detach(0, 13), EINVAL);
  EXPECT_EQ(joined_, 0);
  EXPECT_EQ(attach(0, 12), 0);
}

// Before, the child took the parent's socket from the epoll set that both have. [API-UD-5]
TEST_F(MulticastDeviceTest, fork__a_child_leaves_the_datapath_alone) {
  auto opened = open_device(nullptr);
  ASSERT_TRUE(opened) << opened.error().text;
  device_ = std::shared_ptr<Device>(*opened, &(*opened)->first());
  create_qps();
  ASSERT_EQ(attach(0, 1), 0);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {  // no gtest in here: the exit status is the result
    const bool refused = attach(0, 2) == EPERM && attach(1, 1) == EPERM;
    ::_exit(refused && detach(0, 1) == 0 && detach(0, 1) == EINVAL ? 0 : 1);
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
  const uint64_t before = undecodable();
  ASSERT_EQ(::sendto(socket.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to), 1);
  while (undecodable() == before) device_->progress();
  EXPECT_EQ(detach(0, 1), 0);
}

TEST_F(MulticastDeviceTest, attach__without_memory_nothing_is_joined) {
  start_over(std::make_unique<GroupDatapath>(&joined_));
  EXPECT_THROW(attach(0, 14), std::bad_alloc);
  EXPECT_EQ(detach(0, 14), EINVAL);
  EXPECT_EQ(joined_, 0);
}

TEST_F(MulticastDeviceTest, attach__a_datapath_without_multicast_refuses) {
  start_over(datapath::MemDatapath::make_pair(4, 1).first);
  EXPECT_EQ(attach(0, 1), EOPNOTSUPP);
  const DeviceLock lock(device_->mutex());
  EXPECT_EQ(device_->max_groups_locked(), 0u);
  const auto group = device_->resolve_group_locked(IpAddress::v4(239, 0, 0, 1), 1);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, EOPNOTSUPP);
}

}  // namespace
}  // namespace mrc::device
