// Endpoint operations towards a peer whose planes nothing configures: it is asked for its addresses first, and what
// waits for them holds up nothing else. [API-CTL-2] [MRC-EXT-2]
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "api/endpoint_ops.h"
#include "datapath/mem/mem_datapath.h"
#include "endpoint_answers.h"
#include "unit/device/virtual_devices.h"

namespace mrc::api {
namespace {

// Two hosts. The other one runs while the first one waits.
class EndpointLearnedTest : public testing::Test {
 protected:
  static constexpr uint16_t kEv = 1000;  // and one more for each plane

  static device::DeviceConfig config_of(uint8_t host) {
    device::DeviceConfig config = device::virtual_config();
    config.built_in = false;
    config.learn_peers = true;
    uint8_t network = 0;
    for (device::PlaneConfig& plane : config.planes) plane.addr = IpAddress::v4(10, 0, ++network, host);
    config.gids = {config.planes[0].addr};
    return config;
  }
  EndpointLearnedTest() {
    const device::DeviceConfig near = config_of(1), far = config_of(2);
    planes_ = static_cast<uint32_t>(near.planes.size());
    PerEv<core::EvEntry> evs;
    for (uint32_t i = 0; i < planes_; ++i) evs.push_back({uint32_t{kEv} + i, plane_at(i)});
    auto [a, b] = datapath::MemDatapath::make_pair(planes_, 64);
    near_ = device::Device::start_over(near, std::move(a), evs, 0, false, {}, clock_);
    far_ = device::Device::start_over(far, std::move(b), evs, 0, false, {}, clock_);
    clock_.meanwhile = [this] { far_->progress(); };
    observation_ = std::make_unique<device::Observation>(*near_, &observer_);
  }
  ~EndpointLearnedTest() override { clock_.meanwhile = nullptr; }

  void ask(uint8_t host, PlaneId plane) {
    const IpAddress gid = IpAddress::v4(10, 0, 1, host);
    mrc_ctl_ep_req& request = requests_.emplace_back();
    request.req_id = static_cast<uint16_t>(requests_.size());
    std::memcpy(request.dgid.raw, gid.bytes.data(), sizeof request.dgid.raw);
    request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
    const auto ev = static_cast<uint16_t>(kEv + plane.value());
    request.req_ev.val[0] = static_cast<uint8_t>(ev >> 8);
    request.req_ev.val[1] = static_cast<uint8_t>(ev);
    request.req_ev.port = static_cast<uint8_t>(port_of(plane));
  }
  int run(Duration timeout) {
    answers_.resize(requests_.size());
    int n = 0;
    const int error = ops_.run(*near_, 0, MRC_CTL_EP_OP_EV_PROBE, requests_.data(), static_cast<int>(requests_.size()),
                               timeout, answers_.data(), &n);
    answers_.resize(static_cast<size_t>(n));
    return error;
  }
  bool answered(uint16_t id) const {
    return std::any_of(answers_.begin(), answers_.end(), [&](const mrc_ctl_ep_rsp& r) { return r.req_id == id; });
  }

  device::VirtualClock clock_;  // outlives the devices
  EndpointOps ops_;
  EndpointAnswers observer_{&ops_};
  std::shared_ptr<device::Device> near_, far_;
  std::unique_ptr<device::Observation> observation_;
  uint32_t planes_ = 0;
  std::vector<mrc_ctl_ep_req> requests_;
  std::vector<mrc_ctl_ep_rsp> answers_;
};

TEST_F(EndpointLearnedTest, every_plane_answers_although_nothing_is_connected) {
  for (const PlaneId plane : PlaneSet::all(planes_)) ask(2, plane);
  EXPECT_EQ(run(Duration::milliseconds(100)), 0);
  EXPECT_EQ(answers_.size(), planes_);
}

TEST_F(EndpointLearnedTest, a_silent_peer_holds_up_no_other) {
  for (int i = 0; i < 40; ++i) ask(9, 1_plane);  // more than are looked at in one go
  for (const PlaneId plane : PlaneSet::all(planes_)) ask(2, plane);
  EXPECT_EQ(run(Duration::milliseconds(100)), ETIMEDOUT);
  EXPECT_EQ(answers_.size(), planes_);
  for (size_t i = 0; i < planes_; ++i) EXPECT_TRUE(answered(static_cast<uint16_t>(41 + i)));
}

TEST_F(EndpointLearnedTest, the_limit_ends_the_wait_for_addresses) {
  ask(9, 1_plane);
  const Instant begin = clock_.now();
  EXPECT_EQ(run(Duration::milliseconds(7)), ETIMEDOUT);
  EXPECT_EQ(clock_.now() - begin, Duration::milliseconds(7));
  EXPECT_TRUE(answers_.empty());
}

}  // namespace
}  // namespace mrc::api
