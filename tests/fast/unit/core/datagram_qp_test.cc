// Datagram QPs, with the test as the peer: states, headers, keys, receive requests, completions, planes. [MRC-UD-1..8]
#include "core/datagram_qp.h"

#include "core/datagram_receive_queue.h"
#include "fault_handlers.h"
#include "harness/gone_memory.h"
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

using harness::GoneMemory;

constexpr Qpn kDatagramQpn = Qpn(0x103), kOtherQpn = Qpn(0x204);
constexpr uint32_t kQkey = 0x11111111;

class DatagramQpTest : public LoneEndpoint {
 protected:
  DatagramQpTest() { datagram_attr_.path_mtu = 1024; }
  ~DatagramQpTest() override {
    if (endpoint_ != nullptr) endpoint_->destroy_datagram_qp(ud_);
  }

  void start(QpState last = QpState::kRts, bool shared = false) {
    LoneEndpoint::start();
    queue_ = std::make_unique<DatagramReceiveQueue>(4, 2, 1, shared);
    ud_ = endpoint_->create_datagram_qp(DatagramQpInit{this, kDatagramQpn, 1, {8, 4, 2, 64}, queue_.get()});
    ASSERT_NE(ud_, nullptr);
    datagram_attr_.qkey = kQkey;
    datagram_attr_.sq_psn = Psn(0xFFFFFE);
    to(last);
    sent_.clear();
  }
  void to(QpState last) {
    for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts})
      if (s <= last) {
        EXPECT_TRUE(endpoint_->modify_datagram_qp(now_, ud_, s, datagram_attr_));
      }
  }
  DatagramWr request(uint64_t id, uint32_t n) {
    sge_ = {base(), n, key_};
    DatagramWr wr;
    wr.wr_id = id;
    wr.signaled = true;
    wr.sges = &sge_;
    wr.num_sge = 1;
    wr.peer = peer_id_;
    wr.dest_qpn = kOtherQpn;
    wr.qkey = kQkey;
    return wr;
  }
  PostResult send(uint64_t id, uint32_t n) { return endpoint_->post_datagram(ud_, request(id, n)); }
  // Receives into memory_ from `offset` on.
  PostResult post_receive(uint64_t id, uint64_t offset, uint32_t n) {
    const Sge sge{base() + offset, n, key_};
    return endpoint_->post_datagram_recv(ud_, id, &sge, 1);
  }
  wire::Packet datagram(uint32_t n, uint32_t qkey = kQkey) const {
    return datagram_packet(kDatagramQpn, kOtherQpn, qkey, n);
  }
  std::vector<const SentPacket*> datagrams() const {
    std::vector<const SentPacket*> found;
    for (const auto& s : sent_)
      if (wire::is_datagram(s->op())) found.push_back(s.get());
    return found;
  }

  DatagramAttr datagram_attr_;
  std::unique_ptr<DatagramReceiveQueue> queue_;
  DatagramQp* ud_ = nullptr;
  Sge sge_;
};

// [MRC-UD-2]
TEST_F(DatagramQpTest, transitions_need_no_peer) {
  start(QpState::kReset);
  EXPECT_FALSE(endpoint_->modify_datagram_qp(now_, ud_, QpState::kRtr, datagram_attr_));
  EXPECT_EQ(send(1, 8), PostResult::kBadState);
  EXPECT_EQ(post_receive(1, 0, 64), PostResult::kBadState);
  EXPECT_TRUE(endpoint_->modify_datagram_qp(now_, ud_, QpState::kInit, datagram_attr_));
  EXPECT_EQ(post_receive(1, 0, 64), PostResult::kOk);
  arrive(datagram(8));
  EXPECT_EQ(counters().drop_state, 1u);
  EXPECT_TRUE(endpoint_->modify_datagram_qp(now_, ud_, QpState::kRtr, datagram_attr_));
  EXPECT_EQ(send(1, 8), PostResult::kBadState);
  arrive(datagram(8));
  EXPECT_EQ(receives_.size(), 1u);
  EXPECT_TRUE(endpoint_->modify_datagram_qp(now_, ud_, QpState::kRts, datagram_attr_));
  EXPECT_EQ(send(1, 8), PostResult::kOk);
  EXPECT_EQ(endpoint_->datagram_qp_state(ud_), QpState::kRts);
}

TEST_F(DatagramQpTest, numbers_are_of_one_space) {
  start();
  EXPECT_EQ(endpoint_->create_datagram_qp(DatagramQpInit{this, kOwnQpn, 1, {}, queue_.get()}), nullptr);
  EXPECT_EQ(endpoint_->create_datagram_qp(DatagramQpInit{this, kDatagramQpn, 1, {}, queue_.get()}), nullptr);
  EXPECT_EQ(endpoint_->create_qp(QpInit{this, kDatagramQpn, 1, {1, 1, 1, 0}}), nullptr);
}

// Without room on a plane all of them wait; one that is destroyed leaves the order of the others as it is.
TEST_F(DatagramQpTest, queue_pairs_that_wait_take_turns) {
  start();
  DatagramReceiveQueue queue(4, 2, 1, false);
  std::vector<DatagramQp*> others;
  for (const uint32_t qpn : {0x104u, 0x105u, 0x106u}) {
    others.push_back(endpoint_->create_datagram_qp(DatagramQpInit{this, Qpn(qpn), 1, {8, 4, 2, 64}, &queue}));
    ASSERT_NE(others.back(), nullptr);
    for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts})
      ASSERT_TRUE(endpoint_->modify_datagram_qp(now_, others.back(), s, datagram_attr_));
  }
  ASSERT_EQ(send(1, 8), PostResult::kOk);
  for (DatagramQp* other : others) ASSERT_EQ(endpoint_->post_datagram(other, request(2, 8)), PostResult::kOk);
  EXPECT_FALSE(endpoint_->poll_tx(now_, &burst_, PlaneSet()));
  endpoint_->destroy_datagram_qp(others[1]);
  drain();
  std::vector<Qpn> order;
  for (const SentPacket* s : datagrams()) order.push_back(s->p.ud.deth.src_qpn);
  EXPECT_EQ(order, (std::vector<Qpn>{kDatagramQpn, Qpn(0x104), Qpn(0x106)}));
  endpoint_->destroy_datagram_qp(others[0]);
  endpoint_->destroy_datagram_qp(others[2]);
}

// [MRC-UD-1] [MRC-UD-4]
TEST_F(DatagramQpTest, a_datagram_leaves_once_and_completes_when_it_has_left) {
  start();
  for (size_t i = 0; i < 16; ++i) memory_[i] = static_cast<uint8_t>(i);
  DatagramWr wr = request(7, 13);
  wr.with_imm = wr.solicited = true;
  wr.imm = 0x04030201;
  ASSERT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kOk);
  ASSERT_EQ(send(8, 0), PostResult::kOk);
  EXPECT_TRUE(sends_.empty());
  ASSERT_TRUE(endpoint_->poll_tx(now_, &burst_, PlaneSet::all()));
  EXPECT_TRUE(sends_.empty());  // the driver still reads the memory
  drain();
  ASSERT_EQ(sends_.size(), 2u);
  EXPECT_EQ(sends_[0].wr_id, 7u);
  EXPECT_EQ(sends_[1].wr_id, 8u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  ASSERT_EQ(send(9, 13), PostResult::kOk);
  drain();
  ASSERT_EQ(datagrams().size(), 1u);
  EXPECT_EQ(datagrams()[0]->p.bth.psn, Psn(0));  // 0xFFFFFE, 0xFFFFFF, 0
  sent_.clear();
  ASSERT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kOk);
  drain();
  ASSERT_EQ(datagrams().size(), 1u);
  const wire::Packet& p = datagrams()[0]->p;
  EXPECT_EQ(p.bth.opcode, wire::Opcode::kDatagramImm);
  EXPECT_TRUE(p.bth.solicited);
  EXPECT_EQ(p.bth.dqp, kOtherQpn);
  EXPECT_EQ(p.ud.deth.qkey, kQkey);
  EXPECT_EQ(p.ud.deth.src_qpn, kDatagramQpn);
  EXPECT_EQ(p.ud.imm.data, 0x01020304u);
  ASSERT_EQ(p.payload_len, 13u);
  EXPECT_TRUE(std::equal(p.payload, p.payload + 13, memory_.begin()));
  EXPECT_EQ(datagrams()[0]->flow.dst_port, 4791);
  pass(Duration::seconds(2));
  EXPECT_EQ(datagrams().size(), 1u);  // not sent again
}

TEST_F(DatagramQpTest, unsignaled_requests_free_their_slots_with_the_next_completion) {
  start();
  DatagramWr wr = request(1, 8);
  wr.signaled = false;
  ASSERT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kOk);
  drain();
  EXPECT_TRUE(sends_.empty());
  ASSERT_EQ(send(2, 8), PostResult::kOk);
  drain();
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].slots, 2u);
}

TEST_F(DatagramQpTest, queue_and_mtu_are_limits) {
  start();
  EXPECT_EQ(send(1, 1025), PostResult::kTooLong);
  EXPECT_EQ(send(1, 1024), PostResult::kOk);
  for (uint64_t i = 2; i <= 8; ++i) EXPECT_EQ(send(i, 8), PostResult::kOk);
  EXPECT_EQ(send(9, 8), PostResult::kQueueFull);
  drain();
  EXPECT_EQ(send(9, 8), PostResult::kOk);
  DatagramWr wr = request(10, 65);
  wr.inline_data = true;
  EXPECT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kInlineTooLong);
  wr = request(10, 64);
  wr.inline_data = true;
  EXPECT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kOk);
}

// [MRC-UD-4] One burst: one size except a shorter last one, one destination process.
TEST_F(DatagramQpTest, bursts_of_one_size_and_one_destination) {
  config_.max_segments = 8;
  start();
  for (uint32_t n : {64u, 64u, 32u, 64u}) ASSERT_EQ(send(n, n), PostResult::kOk);
  PeerDescription slot = peer_;
  for (PlaneAddress& p : slot.planes) p.port = 20003;
  DatagramWr wr = request(5, 64);
  wr.peer = endpoint_->intern_peer(slot);
  ASSERT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kOk);
  endpoint_->release_peer(wr.peer);  // the request keeps it
  drain();
  const auto all = datagrams();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0]->burst, all[2]->burst);
  EXPECT_NE(all[2]->burst, all[3]->burst);
  EXPECT_NE(all[3]->burst, all[4]->burst);
  EXPECT_EQ(all[3]->flow.dst_port, 4791);
  EXPECT_EQ(all[4]->flow.dst_port, 20003);
  EXPECT_FALSE(endpoint_->has_peer(wr.peer));
}

// [MRC-UD-5]
TEST_F(DatagramQpTest, qkeys_are_compared) {
  start();
  ASSERT_EQ(post_receive(1, 0, 64), PostResult::kOk);
  arrive(datagram(8, kQkey + 1));
  EXPECT_TRUE(receives_.empty());
  EXPECT_EQ(counters().drop_datagram_qkey, 1u);
  arrive(datagram(8));
  EXPECT_EQ(receives_.size(), 1u);
  DatagramWr wr = request(1, 8);
  wr.qkey = 0x80010000;
  ASSERT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kOk);
  wr.qkey = 0x7FFFFFFF;
  ASSERT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kOk);
  drain();
  ASSERT_EQ(datagrams().size(), 2u);
  EXPECT_EQ(datagrams()[0]->p.ud.deth.qkey, kQkey);
  EXPECT_EQ(datagrams()[1]->p.ud.deth.qkey, 0x7FFFFFFFu);
}

// [MRC-UD-6]
TEST_F(DatagramQpTest, received_behind_an_ip_header) {
  start();
  for (int i = 0; i < 16; ++i) payload_[i] = static_cast<uint8_t>(0xA0 + i);
  ASSERT_EQ(post_receive(11, 256, 50), PostResult::kOk);
  wire::Packet p = datagram(10);
  p.bth.opcode = wire::Opcode::kDatagramImm;
  p.bth.solicited = true;
  p.ud.imm.data = 0x01020304;
  receive(p, inbound(1), 1);
  ASSERT_EQ(receives_.size(), 1u);
  const Completion& c = receives_[0];
  EXPECT_EQ(c.wr_id, 11u);
  EXPECT_EQ(c.byte_len, 50u);
  EXPECT_EQ(c.src_qpn, kOtherQpn);
  EXPECT_TRUE(c.with_imm && c.solicited && c.v4_header);
  EXPECT_EQ(c.imm, 0x04030201u);  // in memory order
  EXPECT_TRUE(std::equal(payload_, payload_ + 10, memory_.begin() + 256 + 40));
  EXPECT_EQ(memory_[256 + 20], 0x45);
  // The peer's address on plane 0 stands for it, and ours for us, on whichever plane it arrived.
  EXPECT_EQ(std::vector<uint8_t>(memory_.begin() + 256 + 32, memory_.begin() + 256 + 40),
            (std::vector<uint8_t>{10, 0, 0, 2, 10, 0, 0, 1}));
  EXPECT_EQ(memory_[256 + 50], 0x11);  // not written
}

// [MRC-UD-6]
TEST_F(DatagramQpTest, configured_gids_are_reported) {
  config_.gid = IpAddress::v4(192, 0, 2, 1);
  config_.gids_of_addresses = {{theirs(1), IpAddress::v4(192, 0, 2, 2)}};
  start();
  ASSERT_EQ(post_receive(1, 0, 64), PostResult::kOk);
  receive(datagram(8), inbound(1), 1);
  ASSERT_EQ(receives_.size(), 1u);
  EXPECT_EQ(std::vector<uint8_t>(memory_.begin() + 32, memory_.begin() + 40),
            (std::vector<uint8_t>{192, 0, 2, 2, 192, 0, 2, 1}));
}

// [MRC-UD-6]: of a host that is no peer yet, too, so that an answer finds it on every plane.
TEST_F(DatagramQpTest, gids_follow_the_rule_of_addresses) {
  config_.gid_rule = [](const IpAddress& addr, PlaneId plane) -> std::optional<IpAddress> {
    if (plane != 1_plane) return std::nullopt;
    EXPECT_EQ(addr, theirs(1));
    return IpAddress::v4(192, 0, 2, 9);
  };
  start();
  for (const uint8_t plane : {1, 0}) {
    ASSERT_EQ(post_receive(plane, 0, 64), PostResult::kOk);
    receive(datagram(8), inbound(plane), plane);
    EXPECT_EQ(std::vector<uint8_t>(memory_.begin() + 32, memory_.begin() + 36),
              plane == 1 ? (std::vector<uint8_t>{192, 0, 2, 9}) : (std::vector<uint8_t>{10, 0, 0, 2}));
  }
}

// [MRC-UD-7]
TEST_F(DatagramQpTest, dropped_without_a_fitting_receive_request) {
  start();
  arrive(datagram(8));
  EXPECT_EQ(counters().drop_datagram_no_receive, 1u);
  ASSERT_EQ(post_receive(1, 0, 40 + 8), PostResult::kOk);
  arrive(datagram(9));
  EXPECT_EQ(counters().drop_datagram_length, 1u);
  EXPECT_TRUE(receives_.empty());
  arrive(datagram(8));
  ASSERT_EQ(receives_.size(), 1u);  // the request was kept
  ASSERT_EQ(post_receive(2, 0, 4096), PostResult::kOk);
  arrive(datagram(1025));
  EXPECT_EQ(counters().drop_datagram_length, 2u);
  arrive(datagram(1024));
  EXPECT_EQ(receives_.size(), 2u);
  EXPECT_EQ(counters().rx_datagrams, 2u);
  EXPECT_EQ(endpoint_->datagram_qp_state(ud_), QpState::kRts);
}

// [MRC-UD-7]
TEST_F(DatagramQpTest, memory_that_is_not_valid_fails_the_qp) {
  start();
  const Sge bad{base(), 4096, Key(key_.value() ^ 0x100)};
  ASSERT_EQ(endpoint_->post_datagram_recv(ud_, 1, &bad, 1), PostResult::kOk);
  ASSERT_EQ(post_receive(2, 0, 64), PostResult::kOk);
  arrive(datagram(8));
  ASSERT_EQ(receives_.size(), 2u);
  EXPECT_EQ(receives_[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(receives_[1].status, WcStatus::kFlushed);
  EXPECT_EQ(endpoint_->datagram_qp_state(ud_), QpState::kError);
  EXPECT_EQ(events_, std::vector<AsyncEvent>{AsyncEvent::kQpFatal});

  ASSERT_TRUE(endpoint_->modify_datagram_qp(now_, ud_, QpState::kReset, datagram_attr_));
  to(QpState::kRts);
  ASSERT_EQ(send(1, 8), PostResult::kOk);
  DatagramWr wr = request(2, 8);
  sge_.lkey = bad.lkey;
  ASSERT_EQ(endpoint_->post_datagram(ud_, wr), PostResult::kOk);
  ASSERT_EQ(send(3, 8), PostResult::kOk);
  drain();
  ASSERT_EQ(sends_.size(), 3u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kLocalProtection);
  EXPECT_EQ(sends_[2].status, WcStatus::kFlushed);
}

// [MRC-UD-2]
TEST_F(DatagramQpTest, error_flushes_both_queues_and_shared_ones_stay) {
  start(QpState::kRts, true);
  ASSERT_EQ(queue_->post(1, nullptr, 0), PostResult::kOk);
  ASSERT_EQ(send(1, 8), PostResult::kOk);
  ASSERT_TRUE(endpoint_->modify_datagram_qp(now_, ud_, QpState::kError, datagram_attr_));
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].status, WcStatus::kFlushed);
  EXPECT_TRUE(receives_.empty());
  EXPECT_EQ(queue_->size(), 1u);
  ASSERT_EQ(send(2, 8), PostResult::kOk);
  EXPECT_EQ(sends_.size(), 2u);
  drain();
  EXPECT_TRUE(datagrams().empty());
}

// [MRC-UD-3]
TEST_F(DatagramQpTest, planes_in_turn_and_a_dead_one_is_left) {
  config_.max_segments = 1;
  start();
  int on_plane[2] = {0, 0};
  const auto send_some = [&](int n) {
    sent_.clear();
    on_plane[0] = on_plane[1] = 0;
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(send(1, 8), PostResult::kOk);
      drain();
      // Plane 1 is dead: only probes over plane 0 are answered.
      for (const auto& s : sent_) {
        if (s->op() != wire::Opcode::kEndpointRequest || s->plane != 0_plane) continue;
        wire::Packet answer = packet(wire::Opcode::kEndpointResponse, s->p.bth.psn);
        answer.bth.dqp = wire::kEndpointQpn;
        answer.eeth = {};
        answer.eeth.op = s->p.erth.op;
        answer.eeth.tx_timestamp = s->p.erth.timestamp.tx_timestamp;
        receive(answer, inbound(0));
      }
      for (const SentPacket* d : datagrams()) ++on_plane[d->plane.value()];
      sent_.clear();
      pass(Duration::milliseconds(5));
    }
  };
  send_some(10);
  EXPECT_EQ(on_plane[0], 5);
  EXPECT_EQ(on_plane[1], 5);
  send_some(200);  // a second: several checks of each plane
  EXPECT_GT(counters().plane_suspensions, 0u);
  send_some(10);
  EXPECT_EQ(on_plane[0], 10);
  EXPECT_EQ(on_plane[1], 0);
}

// [MRC-UD-3] A sender that fills its queue and then has one slot at a time keeps step with two planes.
TEST_F(DatagramQpTest, bursts_of_unequal_length_load_planes_evenly) {
  start();
  int on_plane[2] = {0, 0};
  for (int i = 0; i < 20; ++i)
    for (const int burst : {7, 1}) {
      sent_.clear();
      for (int k = 0; k < burst; ++k) ASSERT_EQ(send(1, 64), PostResult::kOk);
      drain();
      for (const SentPacket* d : datagrams()) ++on_plane[d->plane.value()];
    }
  EXPECT_EQ(on_plane[0] + on_plane[1], 160);
  EXPECT_NEAR(on_plane[0], on_plane[1], 7);
}

// [MRC-UD-8]
TEST_F(DatagramQpTest, unknown_sources_create_no_state) {
  start();
  const size_t peers = endpoint_->peers().size();
  for (uint8_t i = 3; i < 100; ++i) {
    ASSERT_EQ(post_receive(i, 0, 256), PostResult::kOk);
    wire::Flow flow = inbound(0);
    flow.src = IpAddress::v4(203, 0, 113, i);
    receive(datagram(8), flow);
    ASSERT_EQ(memory_[35], i);  // the source in the IP header
  }
  EXPECT_EQ(receives_.size(), 97u);
  EXPECT_EQ(endpoint_->peers().size(), peers);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(DatagramQpTest, packets_of_the_other_kind_find_no_qp) {
  start();
  ASSERT_EQ(post_receive(1, 0, 256), PostResult::kOk);
  wire::Packet p = datagram(8);
  p.bth.dqp = kOwnQpn;
  arrive(p);
  p = write_packet(0);
  p.bth.dqp = kDatagramQpn;
  arrive(p);
  EXPECT_EQ(counters().drop_no_qp, 2u);
  EXPECT_TRUE(receives_.empty());
}

TEST_F(DatagramQpTest, datagrams_and_writes_take_turns) {
  config_.max_segments = 1;
  start();
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(post(i, 64), PostResult::kOk);
    ASSERT_EQ(send(i, 64), PostResult::kOk);
  }
  drain();
  std::string order;
  for (const auto& s : sent_) order += wire::is_datagram(s->op()) ? 'd' : wire::is_request(s->op()) ? 'w' : '.';
  order.erase(std::remove(order.begin(), order.end(), '.'), order.end());
  EXPECT_EQ(order, "wdwdwd");
}

class GoneDatagramTest : public DatagramQpTest {
 protected:
  GoneDatagramTest() {
    EXPECT_TRUE(environment::install_fault_handlers());
    start();
    gone_key_ = endpoint_->memory().add(gone_.data(), gone_.address(), GoneMemory::kBytes, 3, 1);
  }
  void on_memory_fault(Qpn qpn, const MemoryFault& fault) override {
    EXPECT_EQ(qpn, kDatagramQpn);
    EXPECT_EQ(fault.key, gone_key_);
    writes_.push_back(fault.write);
  }
  const harness::NoFaultHandlers none_;
  GoneMemory gone_;
  Key gone_key_;
  std::vector<bool> writes_;
};

// [MRC-UD-12]
TEST_F(GoneDatagramTest, a_send_from_memory_that_is_gone_fails_behind_those_that_left) {
  ASSERT_EQ(send(1, 64), PostResult::kOk);
  DatagramWr second = request(2, 64);
  sge_ = {gone_.address(), 64, gone_key_};
  ASSERT_EQ(endpoint_->post_datagram(ud_, second), PostResult::kOk);
  ASSERT_EQ(send(3, 64), PostResult::kOk);
  gone_.go(GoneMemory::kTruncated);
  drain();
  EXPECT_EQ(datagrams().size(), 1u);
  ASSERT_EQ(sends_.size(), 3u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kLocalProtection);
  EXPECT_EQ(sends_[2].status, WcStatus::kFlushed);
  EXPECT_EQ(events_, std::vector<AsyncEvent>{AsyncEvent::kQpFatal});
  EXPECT_EQ(writes_, std::vector<bool>{false});
}

// [MRC-UD-12]
TEST_F(GoneDatagramTest, a_datagram_into_memory_that_is_gone_fails_its_receive_request) {
  const Sge sge{gone_.address(), 2048, gone_key_};
  ASSERT_EQ(endpoint_->post_datagram_recv(ud_, 7, &sge, 1), PostResult::kOk);
  gone_.go(GoneMemory::kProtected);
  receive(datagram(64), inbound());
  ASSERT_EQ(receives_.size(), 1u);
  EXPECT_EQ(receives_[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(events_, std::vector<AsyncEvent>{AsyncEvent::kQpFatal});
  EXPECT_EQ(writes_, std::vector<bool>{true});
}

}  // namespace
}  // namespace mrc::core
