// Two NICs over the fabric: the engine drives real packets through real routes.
#include "sim/helper/network.h"

#include <gtest/gtest.h>

namespace mrc::sim {
namespace {

struct Recorder : Listener {
  Ps sent = 0, received = 0;
  void on_sent(uint32_t) override { sent = now_ps(); }
  void on_received(uint32_t) override { received = now_ps(); }
  void on_failed(uint32_t) override { ADD_FAILURE() << "message failed"; }
};

TEST(Network, one_message_crosses) {
  for (const TransportKind kind : {TransportKind::kMrc, TransportKind::kRoce}) {
    const FabricSpec f = load_fabric("reference64");
    TransportConfig t;
    t.kind = kind;
    t.mrc.endpoint.max_segments = 1;
    t.mrc.endpoint.ack_delay = Duration::microseconds(1);
    t.mrc.endpoint.sack_bytes = 16384;
    t.mrc.endpoint.trimming = true;
    t.mrc.endpoint.congestion.base_rtt = Duration::nanoseconds(f.base_rtt() / kPsPerNs);
    t.mrc.qp.path_mtu = f.mtu;
    prepare_simulator();
    Network net(f, t, 1);
    Recorder r;
    for (uint32_t i = 0; i < f.nics(); ++i) net.nic(i).set_listener(&r);
    net.nic(0).send({7, 0, 63, 0, 2000000});
    stop_simulator_in(kPsPerMs);
    run_simulator();
    destroy_simulator();
    EXPECT_NEAR(static_cast<double>(r.sent) / kPsPerUs, 171.5, 171.5 * 0.03);
    EXPECT_EQ(net.pool().live(), 0);
  }
}

}  // namespace
}  // namespace mrc::sim
