// Endpoint operations as the caller asks for them; what the engine does with answers is in
// tests/scenario/paths_test.cc.
#include <gtest/gtest.h>

#include "core/endpoint.h"

namespace mrc::core {
namespace {

struct Nobody : Sink {
  bool on_completion(void*, const Completion&) override { return true; }
  void on_qp_event(void*, AsyncEvent) override {}
  void on_port_event(uint8_t, AsyncEvent) override {}
  void on_endpoint_response(uint16_t, uint8_t, Duration) override {}
};

// [API-CTL-2]
TEST(EndpointOps, start_op__leaves_with_the_traffic_class_of_the_caller) {
  EndpointConfig config;
  config.planes.push_back({IpAddress::v4(10, 0, 0, 1), 4791});
  config.evs.push_back({50000, 0});
  config.dscp.no_trim = 3;
  Nobody sink;
  Endpoint endpoint(config, &sink);
  const PeerId peer = endpoint.intern_peer({{{IpAddress::v4(10, 0, 0, 2), 4791}}});
  const Instant now = Instant::from_ns(1000);
  const struct {
    uint8_t asked, dscp;
  } cases[] = {{0, 3}, {26 << 2, 26}, {26 << 2 | 3, 26}};  // the ECN bits are the engine's
  uint16_t id = 1;
  for (const auto& c : cases) {
    ASSERT_TRUE(endpoint.start_endpoint_op(now, peer, 0, id++, false, 0, Duration::seconds(1), c.asked));
    TxBurst burst;
    ASSERT_TRUE(endpoint.poll_tx(now, &burst));
    EXPECT_EQ(burst.flow.traffic_class >> 2, c.dscp);
    EXPECT_EQ(burst.flow.traffic_class & 3, 2);
  }
}

}  // namespace
}  // namespace mrc::core
