// Addresses, ports and entropy of what is sent. [MRC-EV-2]
#include "core/flows.h"

#include <gtest/gtest.h>

#include "bare_engine.h"

namespace mrc::core {
namespace {

TEST(Flows, follow_the_ev_to_its_plane) {
  const EndpointConfig c = bare_config();
  const std::optional<wire::Flow> f = make_flow(c, bare_peer(), 3_ev, 5);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->src, c.planes[1].addr);
  EXPECT_EQ(f->dst, bare_peer().planes[1].addr);
  EXPECT_EQ(f->src_port, 50003);
  EXPECT_EQ(f->dst_port, 4791);
  EXPECT_EQ(f->dscp(), 5);
  EXPECT_EQ(f->ecn(), wire::Ecn::kEct0);
}

TEST(Flows, are_not_made_to_a_plane_that_the_peer_lacks) {
  PeerDescription one = bare_peer();
  one.planes.pop_back();
  EXPECT_FALSE(make_flow(bare_config(), one, 3_ev, 0));
  EXPECT_TRUE(make_flow(bare_config(), one, 2_ev, 0));
}

TEST(Flows, the_upper_half_of_an_ev_is_the_label_of_ipv6) {
  EndpointConfig c = bare_config();
  c.evs[0].value = 0x1234C350;
  PeerDescription d = bare_peer();
  EXPECT_EQ(make_flow(c, d, 0_ev, 0).value().flow_label, 0u);  // IPv4 has none
  d.planes[0].addr.bytes[0] = 0xFD;
  EXPECT_EQ(make_flow(c, d, 0_ev, 0).value().flow_label, 0x1234u);
}

TEST(Flows, a_reply_goes_to_the_slot_that_asked) {
  EndpointConfig c = bare_config();
  wire::Flow request;
  request.src = bare_peer(7).planes[1].addr;
  wire::Flow back = make_reply_flow(c, request, 1_plane, 3, 1_ev);
  EXPECT_EQ(back.dst, request.src);
  EXPECT_EQ(back.src, c.planes[1].addr);
  EXPECT_EQ(back.dst_port, 4791);  // without slots: the port that this endpoint uses
  EXPECT_EQ(back.dscp(), c.dscp.control);
  c.slot_ports = {{4791, 20000}, {4791, 21000}};
  EXPECT_EQ(make_reply_flow(c, request, 1_plane, 0, 1_ev).dst_port, 4791);
  EXPECT_EQ(make_reply_flow(c, request, 1_plane, 3, 1_ev).dst_port, 21003);
}

}  // namespace
}  // namespace mrc::core
