// Multicast groups: addresses, members and their limits; then datagrams to groups through an endpoint, with the test as
// the network. [MRC-UD-9..11]
#include "core/multicast_groups.h"

#include <array>

#include "core/datagram_qp.h"
#include "core/datagram_receive_queue.h"
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

constexpr uint32_t kGroupQkey = 0x22222222;
const IpAddress kGroup = IpAddress::v4(239, 1, 2, 3), kOtherGroup = IpAddress::v4(239, 1, 2, 4);

IpAddress address(const char* text) {
  return IpAddress::parse(text).value();
}

// Never looked into.
DatagramQp* member(uintptr_t n) {
  return reinterpret_cast<DatagramQp*>(n * 64);
}

std::vector<DatagramQp*> members_at(const MulticastGroups& groups, const IpAddress& address) {
  std::vector<DatagramQp*> found;
  groups.for_each_member(address, [&](DatagramQp* qp, const IpAddress&) { found.push_back(qp); });
  return found;
}

IpAddress numbered(uint32_t n) {
  return IpAddress::v4(239, 5, static_cast<uint8_t>(n >> 8), static_cast<uint8_t>(n));
}

// [MRC-UD-9]
TEST(GroupAddress, of_the_planes_ip_version) {
  EXPECT_EQ(group_address(kGroup, true), kGroup);
  EXPECT_EQ(group_address(kGroup, false), address("ff0e::ffff:239.1.2.3"));
  EXPECT_EQ(group_address(address("ff0e::ffff:239.1.2.3"), true), kGroup);
  EXPECT_EQ(group_address(address("ff15::1:2345:6789"), false), address("ff15::1:2345:6789"));
  EXPECT_EQ(group_address(address("ff15::1:2345:6789"), true), IpAddress::v4(239, 0x45, 0x67, 0x89));
  EXPECT_EQ(group_address(address("ff0e::ffff:10.1.2.3"), true), IpAddress::v4(239, 1, 2, 3));  // no group of IPv4
  for (const char* group : {"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::ffff:1.2.3.4"})
    for (bool v4 : {true, false}) EXPECT_TRUE(group_address(address(group), v4).is_multicast()) << group;
}

// [MRC-UD-11]
TEST(MulticastGroups, a_group_lasts_from_its_first_to_its_last_member) {
  MulticastGroups groups(32);
  EXPECT_FALSE(groups.detach(member(1), kGroup));
  EXPECT_EQ(groups.attach(member(1), kGroup), Attached::kNow);
  EXPECT_EQ(groups.attach(member(1), kGroup), Attached::kBefore);
  EXPECT_EQ(groups.attach(member(2), kGroup), Attached::kNow);
  EXPECT_EQ(groups.attach(member(1), kOtherGroup), Attached::kNow);
  EXPECT_EQ(groups.of(member(1)), (std::vector<IpAddress>{kGroup, kOtherGroup}));
  EXPECT_TRUE(groups.detach(member(1), kGroup));
  EXPECT_FALSE(groups.detach(member(1), kGroup));
  EXPECT_TRUE(groups.has(kGroup));
  EXPECT_EQ(members_at(groups, group_address(kGroup, false)), std::vector{member(2)});
  EXPECT_TRUE(groups.detach(member(2), kGroup));
  EXPECT_FALSE(groups.has(kGroup));
  EXPECT_FALSE(groups.for_each_member(kGroup, [](DatagramQp*, const IpAddress&) {}));
  groups.remove(member(1));
  EXPECT_FALSE(groups.has(kOtherGroup));
  EXPECT_TRUE(groups.of(member(1)).empty());
}

// [MRC-UD-11]
TEST(MulticastGroups, groups_and_members_are_bounded) {
  MulticastGroups groups(3);
  for (uint32_t n = 0; n < 3; ++n) EXPECT_EQ(groups.attach(member(1), numbered(n)), Attached::kNow);
  EXPECT_EQ(groups.attach(member(1), numbered(3)), Attached::kNoRoom);
  for (uint32_t n = 2; n <= MulticastGroups::kMaxMembers; ++n)
    EXPECT_EQ(groups.attach(member(n), numbered(0)), Attached::kNow);
  EXPECT_EQ(groups.attach(member(1000), numbered(0)), Attached::kNoRoom);
  EXPECT_EQ(groups.attach(member(1), numbered(0)), Attached::kBefore);
  groups.check();
  EXPECT_TRUE(groups.detach(member(1), numbered(2)));
  EXPECT_EQ(groups.attach(member(1), numbered(3)), Attached::kNow);
  EXPECT_TRUE(groups.detach(member(2), numbered(0)));
  EXPECT_EQ(groups.attach(member(1000), numbered(0)), Attached::kNow);
  MulticastGroups none(0);
  EXPECT_EQ(none.attach(member(1), kGroup), Attached::kNoRoom);
}

// Two datagram QPs, 0x110 and 0x111.
class MulticastTest : public LoneEndpoint {
 protected:
  ~MulticastTest() override {
    for (DatagramQp* qp : ud_)
      if (qp != nullptr) endpoint_->destroy_datagram_qp(qp);
  }

  void begin() {
    start();
    for (size_t i = 0; i < ud_.size(); ++i) {
      queues_[i] = std::make_unique<DatagramReceiveQueue>(4, 2, 1, false);
      ud_[i] = endpoint_->create_datagram_qp(
          DatagramQpInit{this, Qpn(0x110 + static_cast<uint32_t>(i)), 1, {8, 4, 2, 64}, queues_[i].get()});
      ASSERT_NE(ud_[i], nullptr);
      DatagramAttr attr;
      attr.qkey = kGroupQkey;
      attr.path_mtu = 1024;
      for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts})
        ASSERT_TRUE(endpoint_->modify_datagram_qp(now_, ud_[i], s, attr));
    }
    sent_.clear();
  }
  void attach(size_t i, const IpAddress& group = kGroup) {
    EXPECT_EQ(endpoint_->attach_datagram_qp(ud_[i], group), Attached::kNow);
  }
  void post_receive(size_t i, uint32_t n = 64) {
    const Sge sge{base() + 256 * i, n, key_};
    ASSERT_EQ(endpoint_->post_datagram_recv(ud_[i], i, &sge, 1), PostResult::kOk);
  }
  wire::Packet datagram(uint32_t n, uint32_t qkey = kGroupQkey) const {
    return datagram_packet(kMulticastQpn, Qpn(0x204), qkey, n);
  }
  void arrive_at(const IpAddress& group, const wire::Packet& p, uint8_t dscp = 0) {
    wire::Flow flow = inbound(0, wire::Ecn::kEct0, dscp);
    flow.dst = group;
    receive(p, flow);
  }
  PeerDescription group_peer(const IpAddress& group = kGroup, uint8_t hop_limit = 1) const {
    PeerDescription d;
    for (size_t p = 0; p < config_.planes.size(); ++p) {
      d.planes.push_back({group, 4791});
      d.sources.push_back({IpAddress::v4(10, 9, 0, static_cast<uint8_t>(p)), static_cast<uint16_t>(50000 + p)});
    }
    d.hop_limit = hop_limit;
    return d;
  }
  PostResult send_to(PeerId peer, uint32_t n) {
    const Sge sge{base(), n, key_};
    DatagramWr wr;
    wr.sges = &sge;
    wr.num_sge = 1;
    wr.signaled = true;
    wr.peer = peer;
    wr.dest_qpn = kMulticastQpn;
    wr.qkey = kGroupQkey;
    return endpoint_->post_datagram(ud_[0], wr);
  }

  std::array<std::unique_ptr<DatagramReceiveQueue>, 2> queues_;
  std::array<DatagramQp*, 2> ud_{};
};

// [MRC-UD-10]
TEST_F(MulticastTest, every_member_gets_a_copy) {
  begin();
  for (size_t i : {0u, 1u}) {
    attach(i);
    post_receive(i);
  }
  for (int i = 0; i < 8; ++i) payload_[i] = static_cast<uint8_t>(0xC0 + i);
  arrive_at(kGroup, datagram(8));
  ASSERT_EQ(receives_.size(), 2u);
  for (size_t i : {0u, 1u}) {
    EXPECT_EQ(receives_[i].qpn, Qpn(0x110 + static_cast<uint32_t>(i)));
    EXPECT_EQ(receives_[i].src_qpn, Qpn(0x204));
    EXPECT_EQ(receives_[i].byte_len, 48u);
    EXPECT_TRUE(std::equal(payload_, payload_ + 8, memory_.begin() + static_cast<std::ptrdiff_t>(256 * i + 40)));
  }
  EXPECT_EQ(counters().rx_datagrams, 2u);
}

// The header before the data has the group as its destination. [MRC-UD-6]
TEST_F(MulticastTest, the_header_names_the_group) {
  begin();
  const IpAddress gid = address("ff15::1:2345:6789");
  attach(0, gid);
  post_receive(0);
  arrive_at(group_address(gid, true), datagram(8));
  ASSERT_EQ(receives_.size(), 1u);
  EXPECT_FALSE(receives_[0].v4_header);
  EXPECT_TRUE(std::equal(gid.bytes.begin(), gid.bytes.end(), memory_.begin() + 24));
}

// [MRC-UD-10]
TEST_F(MulticastTest, a_member_that_does_not_accept_it_leaves_the_others_alone) {
  begin();
  attach(0);
  attach(1);
  post_receive(1);
  arrive_at(kGroup, datagram(8));
  ASSERT_EQ(receives_.size(), 1u);
  EXPECT_EQ(receives_[0].qpn, Qpn(0x111));
  EXPECT_EQ(counters().drop_datagram_no_receive, 1u);
  post_receive(0);
  post_receive(1, 47);
  arrive_at(kGroup, datagram(8));
  EXPECT_EQ(receives_.size(), 2u);
  EXPECT_EQ(counters().drop_datagram_length, 1u);
  arrive_at(kGroup, datagram(7, kGroupQkey + 1));
  EXPECT_EQ(receives_.size(), 2u);
  EXPECT_EQ(counters().drop_datagram_qkey, 2u);
}

// [MRC-UD-10] [MRC-UD-11]
TEST_F(MulticastTest, without_a_member_it_is_dropped) {
  begin();
  post_receive(0);
  arrive_at(kGroup, datagram(8));
  EXPECT_EQ(counters().drop_multicast, 1u);
  attach(0);
  arrive_at(kOtherGroup, datagram(8));
  EXPECT_EQ(counters().drop_multicast, 2u);
  EXPECT_TRUE(endpoint_->detach_datagram_qp(ud_[0], kGroup));
  arrive_at(kGroup, datagram(8));
  EXPECT_EQ(counters().drop_multicast, 3u);
  EXPECT_TRUE(receives_.empty());
  attach(1);
  endpoint_->destroy_datagram_qp(ud_[1]);
  ud_[1] = nullptr;
  EXPECT_FALSE(endpoint_->has_group(kGroup));
  arrive_at(kGroup, datagram(8));
  EXPECT_EQ(counters().drop_multicast, 4u);
}

// Packets of other kinds get no answer, so that one packet is not answered by many. [MRC-UD-10]
TEST_F(MulticastTest, nothing_but_datagrams_to_the_multicast_number) {
  begin();
  attach(0);
  post_receive(0);
  wire::Packet p = datagram(8);
  p.bth.dqp = Qpn(0x110);
  arrive_at(kGroup, p);
  arrive_at(kGroup, write_packet(0));
  arrive_at(kGroup, probe(1));
  wire::Packet request = packet(wire::Opcode::kEndpointRequest);
  request.bth.dqp = Qpn(2);
  arrive_at(kGroup, request);
  EXPECT_EQ(counters().drop_multicast, 4u);
  const uint64_t trimmed = counters().rx_trimmed;
  arrive_at(kGroup, write_packet(0), config_.dscp.trimmed);
  EXPECT_EQ(counters().drop_multicast, 5u);
  EXPECT_EQ(counters().rx_trimmed, trimmed);
  p = datagram(8);
  receive(p, inbound());  // to the multicast number, but to this host alone
  EXPECT_EQ(counters().drop_no_qp, 1u);
  pass(Duration::seconds(1));
  EXPECT_TRUE(receives_.empty());
  EXPECT_TRUE(sent(wire::Opcode::kEndpointResponse).empty());
}

// [MRC-UD-9]
TEST_F(MulticastTest, leaves_once_from_the_sources_of_the_planes) {
  begin();
  const PeerId group = endpoint_->intern_peer(group_peer(kGroup, 7));
  ASSERT_EQ(send_to(group, 16), PostResult::kOk);
  ASSERT_EQ(send_to(group, 16), PostResult::kOk);
  drain();
  EXPECT_EQ(burst_.hop_limit, 7);
  EXPECT_EQ(sends_.size(), 2u);
  const auto all = sent(wire::Opcode::kDatagram);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[0]->burst, all[1]->burst);
  for (const SentPacket* s : all) {
    EXPECT_EQ(s->p.bth.dqp, kMulticastQpn);
    EXPECT_EQ(s->flow.dst, kGroup);
    EXPECT_EQ(s->flow.dst_port, 4791);
    EXPECT_EQ(s->flow.src_port, 50000 + s->flow.src.bytes[15]);
    EXPECT_EQ(s->flow.src.bytes[13], 9);
  }
  endpoint_->release_peer(group);
}

// A group does not answer: it is not probed, queried or told of planes, and is none of the peers. [MRC-UD-9]
TEST_F(MulticastTest, a_group_is_not_probed) {
  begin();
  const PeerId group = endpoint_->intern_peer(group_peer());
  EXPECT_EQ(endpoint_->peers().size(), 1u);
  ASSERT_EQ(send_to(group, 16), PostResult::kOk);
  drain();
  endpoint_->set_plane_up(now_, PlaneId(0), false);
  endpoint_->set_plane_up(now_, PlaneId(0), true);
  pass(Duration::seconds(2));
  for (const auto& s : sent_)
    if (!wire::is_datagram(s->op())) {
      EXPECT_NE(s->flow.dst, kGroup);
    }
  endpoint_->release_peer(group);
}

// [MRC-UD-9]
TEST_F(MulticastTest, planes_that_are_down_are_left_out) {
  begin();
  const PeerId group = endpoint_->intern_peer(group_peer());
  endpoint_->set_plane_up(now_, PlaneId(0), false);
  drain();
  for (int i = 0; i < 6; ++i) ASSERT_EQ(send_to(group, 16), PostResult::kOk);
  drain();
  for (const SentPacket* s : sent(wire::Opcode::kDatagram)) EXPECT_NE(s->flow.src, group_peer().sources[0].addr);
  EXPECT_EQ(sent(wire::Opcode::kDatagram).size(), 6u);
  endpoint_->release_peer(group);
}

}  // namespace
}  // namespace mrc::core
