// Multicast groups of a device: when the datapath receives for them, and what happens where it cannot. [MRC-UD-9]
// [MRC-UD-11]
#include <cerrno>
#include <new>

#include "datapath/mem/mem_datapath.h"
#include "device/device.h"
#include "harness/datagram_qps.h"
#include "virtual_devices.h"

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

class MulticastDeviceTest : public testing::Test {
 protected:
  void start_over(std::unique_ptr<datapath::Datapath> datapath) {
    PerEv<core::EvEntry> evs;
    for (uint32_t i = 0; i < 16; ++i) evs.push_back({1000 + i, plane_at(i % 4)});
    device_ = Device::start_over(virtual_config(), std::move(datapath), evs, 0, false, {}, clock_);
    qps_.create(device_.get());
  }
  int attach(size_t i, uint8_t last) { return qps_.attach(i, last); }
  int detach(size_t i, uint8_t last) { return qps_.detach(i, last); }

  // These outlive the device.
  VirtualClock clock_;
  int joined_ = 0;
  DatagramQps qps_;
  std::shared_ptr<Device> device_;
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

TEST_F(MulticastDeviceTest, attach__is_undone_when_the_datapath_refuses) {
  start_over(std::make_unique<GroupDatapath>(&joined_));
  EXPECT_EQ(attach(0, 13), ENOBUFS);
  EXPECT_EQ(detach(0, 13), EINVAL);
  EXPECT_EQ(joined_, 0);
  EXPECT_EQ(attach(0, 12), 0);
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
