// A long batch of endpoint operations where little can wait: as the receive buffers of sockets do, the datapath loses
// what arrives faster than it is read. [API-CTL-2]
#include <gtest/gtest.h>

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

constexpr uint32_t kRoom = 16;  // packets: as many as requests may wait in the engine

// A device that reaches itself.
class SmallBuffers final : public datapath::Datapath {
 public:
  explicit SmallBuffers(uint32_t planes) : loop_(datapath::MemDatapath::make_loop(planes, kRoom)) {}

  int rx_burst(Instant now, core::RxBurst* out, int max) override { return loop_->rx_burst(now, out, max); }
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override {
    const datapath::DatapathCounters& c = loop_->counters();
    for (int i = 0; i < n; ++i)
      if (c.tx_packets - c.rx_packets + bursts[i]->segments <= kRoom) loop_->tx_one(now, *bursts[i]);
    return n;
  }
  PlaneSet planes_with_room() override { return loop_->planes_with_room(); }
  int wait_fds(int* out, int max) const override { return loop_->wait_fds(out, max); }
  uint32_t max_segments() const override { return loop_->max_segments(); }
  uint32_t max_burst_bytes() const override { return loop_->max_burst_bytes(); }
  const datapath::DatapathCounters& counters() override { return loop_->counters(); }
  std::string describe() const override { return loop_->describe(); }

 private:
  const std::unique_ptr<datapath::MemDatapath> loop_;
};

// Those of one EV leave as one burst, so that whatever waits in the engine arrives at once.
TEST(EndpointPortionsTest, requests_leave_in_portions_that_sockets_keep) {
  constexpr uint16_t kEv = 1000, kRequests = 3000;
  const device::VirtualClock clock;
  const device::DeviceConfig config = device::virtual_config();
  const auto planes = static_cast<uint32_t>(config.planes.size());
  const PerEv<core::EvEntry> evs(1, {kEv, PlaneId(0)});
  const std::shared_ptr<device::Device> device =
      device::Device::start_over(config, std::make_unique<SmallBuffers>(planes), evs, 0, false, {}, clock);
  EndpointOps ops;
  EndpointAnswers observer(&ops);
  const device::Observation observation(*device, &observer);
  std::vector<mrc_ctl_ep_req> requests;
  for (uint16_t i = 0; i < kRequests; ++i) {
    mrc_ctl_ep_req& request = requests.emplace_back();
    request.req_id = i;
    std::memcpy(request.dgid.raw, config.gids[3].bytes.data(), sizeof request.dgid.raw);
    request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
    request.req_ev.val[0] = kEv >> 8;
    request.req_ev.val[1] = kEv & 0xFF;
    request.req_ev.port = static_cast<uint8_t>(port_of(PlaneId(0)));
  }
  std::vector<mrc_ctl_ep_rsp> answers(requests.size());
  int n = 0;
  EXPECT_EQ(
      ops.run(*device, 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(), kRequests, Duration::seconds(4), answers.data(), &n),
      0);
  EXPECT_EQ(n, kRequests);
}

}  // namespace
}  // namespace mrc::api
