// The number of connectionless requests that are answered. [MRC-SEC-11]
#include "core/reply_limiter.h"

#include "lone_endpoint.h"

namespace mrc::core {
namespace {

const Instant kStart = Instant::from_ns(5000000000);
const IpAddress kFrom = IpAddress::v4(10, 0, 0, 9);

int allowed(ReplyLimiter* limiter, Instant now, const RequestSource& from, int tries, uint32_t asked = 52) {
  int n = 0;
  for (int i = 0; i < tries; ++i) n += limiter->allow(now, from, asked, 52);
  return n;
}
int allowed(ReplyLimiter* limiter, Instant now, const IpAddress& from, bool peer, int tries, uint32_t asked = 52) {
  return allowed(limiter, now, RequestSource{from, peer}, tries, asked);
}

TEST(ReplyLimiter, so_many_at_once_and_so_many_per_second) {
  ReplyLimiter limiter(1);
  EXPECT_EQ(allowed(&limiter, kStart, kFrom, false, 10000), ReplyLimiter::kUnverifiedBurst);
  EXPECT_EQ(allowed(&limiter, kStart + Duration::milliseconds(10), kFrom, false, 10000),
            ReplyLimiter::kUnverifiedRate / 100);
  EXPECT_EQ(allowed(&limiter, kStart + Duration::seconds(9), kFrom, false, 10000), ReplyLimiter::kUnverifiedBurst);
  EXPECT_EQ(allowed(&limiter, kStart, IpAddress::v4(10, 0, 0, 8), true, 10000), ReplyLimiter::kPeerBurst);
}

// An address that asked before it was a peer's has what a peer has, less what it got.
TEST(ReplyLimiter, an_address_that_becomes_a_peers_gets_the_budget_of_peers) {
  ReplyLimiter limiter(1);
  EXPECT_EQ(allowed(&limiter, kStart, kFrom, false, 10), 10);
  EXPECT_EQ(allowed(&limiter, kStart, kFrom, true, 10000), ReplyLimiter::kPeerBurst - 10);
  EXPECT_EQ(allowed(&limiter, kStart, kFrom, false, 10), 0);
  EXPECT_EQ(allowed(&limiter, kStart + Duration::milliseconds(10), kFrom, true, 10000), ReplyLimiter::kPeerRate / 100);
}

// Nor do other processes of its host, of the same user or not.
TEST(ReplyLimiter, a_peers_announced_ports_have_a_budget_of_their_own) {
  ReplyLimiter limiter(1);
  EXPECT_EQ(allowed(&limiter, kStart, {kFrom, true}, 10000), ReplyLimiter::kPeerBurst);
  EXPECT_EQ(allowed(&limiter, kStart, {kFrom, true, 3}, 10000), ReplyLimiter::kPeerBurst);
  EXPECT_EQ(allowed(&limiter, kStart, {kFrom, true, 4}, 10), 10);
}

TEST(ReplyLimiter, no_more_bytes_than_came) {
  ReplyLimiter limiter(1);
  EXPECT_EQ(allowed(&limiter, kStart, kFrom, false, 130, 32), 130 * 32 / 52);
  EXPECT_EQ(allowed(&limiter, kStart, IpAddress::v4(10, 0, 0, 8), true, 130, 32), 130);
}

// Bytes that were received long ago do not add up without a limit.
TEST(ReplyLimiter, bytes_are_saved_up_to_a_limit) {
  ReplyLimiter limiter(1);
  EXPECT_EQ(allowed(&limiter, kStart, kFrom, false, 100, 1000), 100);
  EXPECT_EQ(allowed(&limiter, kStart + Duration::seconds(1), kFrom, false, 500, 0),
            (ReplyLimiter::kMaxSavedBytes - 52) / 52);
}

TEST(ReplyLimiter, many_addresses_share_a_limit) {
  ReplyLimiter limiter(1);
  int n = 0;
  for (int i = 0; i < 100000; ++i)
    n += limiter.allow(
        kStart,
        {IpAddress::v4(11, static_cast<uint8_t>(i >> 16), static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i))}, 52,
        52);
  EXPECT_EQ(n, ReplyLimiter::kAllUnverifiedBurst);
}

class ReplyTest : public LoneEndpoint {};

// A flood of requests does not take the room of our own control packets, and is answered in part.
TEST_F(ReplyTest, a_flood_of_requests_leaves_room_for_our_own_packets) {
  start();
  wire::Flow flow = inbound();
  flow.src = IpAddress::v4(10, 0, 0, 77);
  wire::Packet p = packet(wire::Opcode::kEndpointRequest);
  p.bth.dqp = wire::kEndpointQpn;
  p.erth = wire::Erth();
  p.erth.op = wire::EndpointOp::kEvProbe;
  for (int i = 0; i < 5000; ++i) receive(p, flow);
  EXPECT_EQ(endpoint_->control_waiting(), 0u);
  EXPECT_GT(counters().drop_replies, 4000u);
  EXPECT_TRUE(endpoint_->start_endpoint_op(now_, peer_id_, 0_ev, 5, false, {}, Duration::seconds(1)));
  drain();
  uint64_t bytes = 0;
  for (const SentPacket* s : sent(wire::Opcode::kEndpointResponse)) bytes += s->bytes.size();
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, 5000u * 32);
  ASSERT_EQ(sent(wire::Opcode::kEndpointRequest).size(), 1u);
  EXPECT_EQ(sent_[0]->op(), wire::Opcode::kEndpointRequest);  // before the answers
  EXPECT_EQ(sent_[0]->bytes.size(), 52u);                     // as long as its answer [MRC-EVP-6]
}

// Requests of another engine of this device, or of another process of this host, are as good as a peer's.
TEST_F(ReplyTest, the_devices_own_address_has_the_budget_of_a_peer) {
  start();
  wire::Flow flow = inbound(1);
  wire::Packet p = packet(wire::Opcode::kEndpointRequest);
  p.bth.dqp = wire::kEndpointQpn;
  p.erth = wire::Erth();
  p.erth.op = wire::EndpointOp::kEvProbe;
  for (const IpAddress& from : {own(1), IpAddress::v4(10, 0, 0, 77)}) {
    flow.src = from;
    sent_.clear();
    for (int i = 0; i < 2000; ++i) {
      receive(p, flow, 1);
      drain();
    }
    const size_t answers = sent(wire::Opcode::kEndpointResponse).size();
    if (from == own(1)) {
      EXPECT_EQ(answers, 2000u);
    } else {
      EXPECT_LE(answers, static_cast<size_t>(ReplyLimiter::kUnverifiedBurst));
    }
  }
}

// A peer that is a NIC gets what OCP MRC has.
TEST_F(ReplyTest, a_request_to_a_nic_is_not_padded) {
  peer_.nic = true;
  start();
  endpoint_->start_endpoint_op(now_, peer_id_, 0_ev, 5, false, {}, Duration::seconds(1));
  drain();
  EXPECT_EQ(sent(wire::Opcode::kEndpointRequest)[0]->bytes.size(), 32u);
}

// With no room for it a control packet is not counted as sent, and the silence that follows is no fault of its path.
TEST_F(ReplyTest, a_reply_without_room_is_not_counted_as_sent) {
  attr_.mpr_dest = 1;
  start();
  uint16_t id = 1;
  while (endpoint_->start_endpoint_op(now_, peer_id_, 0_ev, id, false, {}, Duration::seconds(9))) ++id;
  EXPECT_EQ(endpoint_->control_waiting(), 1024u);
  arrive(write_packet(128));  // outside of the window
  EXPECT_EQ(counters().drop_window, 1u);
  EXPECT_EQ(counters().tx_nacks, 0u);
  post(1, 8);
  while (counters().tx_data == 0) {  // the data leaves behind all of them
    ASSERT_TRUE(endpoint_->poll_tx(now_, &burst_, PlaneSet::all()));
  }
  while (endpoint_->start_endpoint_op(now_, peer_id_, 0_ev, id, false, {}, Duration::seconds(9))) ++id;
  for (int i = 0; i < 10; ++i) {
    now_ = now_ + Duration::milliseconds(1);
    endpoint_->handle_timeout(now_);
  }
  EXPECT_EQ(counters().tx_probes, 0u);
  EXPECT_EQ(counters().ev_assumed_bad, 0u);
}

class LearnTest : public LoneEndpoint {
 protected:
  // Asks anew for plane 1; the answer names `addr`. True: it was learnt.
  bool learns(const IpAddress& addr) {
    sent_.clear();
    peer_.learn = true;
    peer_.planes[1] = {};
    start();
    drain();
    const auto asked = sent(wire::Opcode::kPlaneRequest);
    if (asked.empty()) return false;
    wire::Packet p = packet(wire::Opcode::kPlaneResponse);
    p.bth.dqp = wire::kEndpointQpn;
    p.plth = asked[0]->p.plth;
    p.plth.planes = 2;
    p.plth.addr = addr;
    p.plth.port = 4791;
    p.plth.ready = true;
    wire::Flow flow = inbound();
    flow.src = peer_.planes[0].addr;
    flow.dst = config_.planes[0].addr;
    receive(p, flow);
    EXPECT_EQ(counters().planes_learnt + counters().drop_stale, 1u) << addr.to_string();
    const bool learnt = counters().planes_learnt == 1;
    EXPECT_EQ(endpoint_->peer_description(peer_id_).planes[1].addr, learnt ? addr : IpAddress()) << addr.to_string();
    return learnt;
  }
  static IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }
};

// [MRC-EXT-5]
TEST_F(LearnTest, no_peer_points_us_at_a_group) {
  for (const char* bad :
       {"0.0.0.0", "0.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "fd00::2"})
    EXPECT_FALSE(learns(ip(bad))) << bad;
  for (const char* good : {"1.0.0.0", "223.255.255.255"}) EXPECT_TRUE(learns(ip(good))) << good;
}

TEST_F(LearnTest, no_peer_points_us_at_a_group_of_ipv6) {
  for (uint8_t plane : {0, 1}) {
    config_.planes[plane].addr = ip("fd00::1");
    config_.planes[plane].addr.bytes[2] = plane;
  }
  peer_.planes[0].addr = ip("fd00::2");
  for (const char* bad : {"::", "ff00::", "ff02::1", "10.1.0.2"}) EXPECT_FALSE(learns(ip(bad))) << bad;
  for (const char* good : {"fd00:1::2", "feff::1"}) EXPECT_TRUE(learns(ip(good))) << good;
}

}  // namespace
}  // namespace mrc::core
