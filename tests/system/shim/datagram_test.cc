// Datagram queue pairs over the shim, beyond what pyverbs reaches (conformance.py). [VRB-UD-1..6]
#include <endian.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "first_device.h"

namespace {

constexpr uint8_t kGid = 3;
constexpr uint32_t kQkey = 0x1234;
constexpr size_t kHeader = 40;

ibv_ah* handle_to(ibv_pd* pd, const union ibv_gid& gid) {
  ibv_ah_attr to{};
  to.is_global = 1;
  to.port_num = 1;
  to.grh.sgid_index = kGid;
  to.grh.dgid = gid;
  return ibv_create_ah(pd, &to);
}

class Side {
 public:
  explicit Side(bool wr_interface = false, uint32_t shared = 0) : memory(8192) {
    context = open_first_device();
    if (context == nullptr) throw std::runtime_error("no device");
    pd = ibv_alloc_pd(context);
    if (shared > 0) {
      ibv_srq_init_attr attr{nullptr, {shared, 1, 0}};
      srq = ibv_create_srq(pd, &attr);
    }
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 64, nullptr, channel, 0);
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    ibv_qp_init_attr_ex init = attributes();
    if (wr_interface) {
      init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    }
    qp = ibv_create_qp_ex(context, &init);
    if (qp == nullptr) throw std::runtime_error("no queue pair");
    start();
    union ibv_gid own;
    ibv_query_gid(context, 1, kGid, &own);
    ah = handle_to(pd, own);
  }
  ~Side() {
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    if (srq != nullptr) {
      EXPECT_EQ(ibv_destroy_srq(srq), 0);
    }
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  ibv_qp_init_attr_ex attributes() const {
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq;
    init.srq = srq;
    init.qp_type = IBV_QPT_UD;
    init.cap = {8, 8, 2, 2, 64};
    init.pd = pd;
    init.comp_mask = IBV_QP_INIT_ATTR_PD;
    return init;
  }
  void start() { start(qp); }
  static void start(ibv_qp* qp) {
    ibv_qp_attr attr{};
    attr.port_num = 1;
    attr.qkey = kQkey;
    attr.qp_state = IBV_QPS_INIT;
    ASSERT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
    attr.qp_state = IBV_QPS_RTR;
    ASSERT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
    attr.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  }
  ibv_sge sge(uint32_t n) const { return {reinterpret_cast<uint64_t>(memory.data()), n, mr->lkey}; }
  void receive(uint64_t wr_id, uint32_t n, uint32_t lkey_flip = 0) {
    ibv_sge s = sge(n);
    s.lkey ^= lkey_flip;
    ibv_recv_wr wr{}, *bad;
    wr.wr_id = wr_id;
    wr.sg_list = &s;
    wr.num_sge = 1;
    ASSERT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
  }
  int receive_shared(uint64_t wr_id) {
    ibv_sge s = sge(64);
    ibv_recv_wr wr{}, *bad;
    wr.wr_id = wr_id;
    wr.sg_list = &s;
    wr.num_sge = 1;
    return ibv_post_srq_recv(srq, &wr, &bad);
  }
  void send(ibv_ah* to, const Side& peer, uint32_t n, unsigned flags = 0) { send(to, peer.qp->qp_num, n, flags); }
  void send(ibv_ah* to, uint32_t qpn, uint32_t n, unsigned flags = 0) {
    ibv_sge s = sge(n);
    ibv_send_wr wr{}, *bad;
    wr.sg_list = &s;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED | flags;
    wr.wr.ud.ah = to;
    wr.wr.ud.remote_qpn = qpn;
    wr.wr.ud.remote_qkey = kQkey;
    ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  }
  // The next completion, however long it takes.
  ibv_wc wait() {
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 0) {
    }
    return wc;
  }

  std::vector<uint8_t> memory;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  ibv_srq* srq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_ah* ah = nullptr;
};

// 239.0.0.`last`
union ibv_gid group_of_ipv4(uint8_t last) {
  union ibv_gid group {};
  group.raw[10] = group.raw[11] = 0xFF;
  group.raw[12] = 239;
  group.raw[15] = last;
  return group;
}

// [VRB-UD-3]
TEST(ShimDatagram, a_sender_to_a_group_is_answered_from_a_gid_of_its_version) {
  Side a, b;
  union ibv_gid mapped = group_of_ipv4(22), own;
  ibv_ah* const ah = handle_to(a.pd, mapped);
  ASSERT_NE(ah, nullptr);
  b.receive(1, 10 + kHeader);
  ASSERT_EQ(ibv_attach_mcast(b.qp, &mapped, 0), 0);
  a.send(ah, 0xFFFFFF, 10);
  ibv_wc got = b.wait();
  ASSERT_EQ(got.status, IBV_WC_SUCCESS);
  auto* const header = reinterpret_cast<ibv_grh*>(b.memory.data());
  ibv_ah_attr attr;
  ASSERT_EQ(ibv_init_ah_from_wc(b.context, 1, &got, header, &attr), 0);
  ASSERT_EQ(ibv_query_gid(b.context, 1, attr.grh.sgid_index, &own), 0);
  EXPECT_EQ(std::memcmp(own.raw, attr.grh.dgid.raw, 12), 0);  // IPv4, as the sender's
  EXPECT_EQ(ibv_detach_mcast(b.qp, &mapped, 0), 0);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);

  ibv_ah* const back = ibv_create_ah_from_wc(b.pd, &got, header, 1);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);  // its own datagram
  a.receive(2, 10 + kHeader);
  b.send(back, a, 10);
  EXPECT_EQ(a.wait().wr_id, 2u);
  EXPECT_EQ(ibv_destroy_ah(back), 0);

  // IPv6 to a group of IPv6, and to an address that no device here has.
  std::memset(b.memory.data(), 0, kHeader);
  header->version_tclass_flow = htobe32(6u << 28);
  header->sgid.raw[15] = 1;
  header->dgid.raw[0] = 0xFF;
  header->dgid.raw[1] = 0x0E;
  ASSERT_EQ(ibv_init_ah_from_wc(b.context, 1, &got, header, &attr), 0);
  ASSERT_EQ(ibv_query_gid(b.context, 1, attr.grh.sgid_index, &own), 0);
  EXPECT_FALSE(own.raw[10] == 0xFF && own.raw[11] == 0xFF);
  header->dgid.raw[0] = 0x20;
  EXPECT_NE(ibv_init_ah_from_wc(b.context, 1, &got, header, &attr), 0);
}

// [VRB-UD-3] [VRB-UD-4]
TEST(ShimDatagram, a_sender_is_answered_by_its_completion) {
  Side a, b;
  b.receive(1, 100 + kHeader);
  a.send(a.ah, b, 100);
  ibv_wc got = b.wait();
  ASSERT_EQ(got.status, IBV_WC_SUCCESS);
  EXPECT_EQ(got.sl, 2);
  auto* const header = reinterpret_cast<ibv_grh*>(b.memory.data());
  ibv_ah_attr attr;
  ASSERT_EQ(ibv_init_ah_from_wc(b.context, 1, &got, header, &attr), 0);
  EXPECT_EQ(attr.is_global, 1);
  EXPECT_EQ(attr.grh.sgid_index, kGid);
  union ibv_gid gid;
  ASSERT_EQ(ibv_query_gid(b.context, 1, kGid, &gid), 0);
  EXPECT_EQ(std::memcmp(attr.grh.dgid.raw, gid.raw, 16), 0);

  ibv_ah* const back = ibv_create_ah_from_wc(b.pd, &got, header, 1);
  ASSERT_NE(back, nullptr);
  a.receive(2, 10 + kHeader);
  b.send(back, a, 10);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);  // of its own datagram
  EXPECT_EQ(a.wait().wr_id, 2u);
  EXPECT_EQ(ibv_destroy_ah(back), 0);
}

// [VRB-UD-7]
TEST(ShimDatagram, the_own_lid_is_an_address) {
  Side a;
  ibv_ah_attr to{};
  to.port_num = 1;
  ibv_port_attr port;
  ASSERT_EQ(ibv_query_port(a.context, 1, &port), 0);
  to.dlid = port.lid;
  ibv_ah* const own = ibv_create_ah(a.pd, &to);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(to.is_global, 0);  // the caller's
  a.receive(3, 100 + kHeader);
  a.send(own, a, 100);
  for (int i = 0; i < 2; ++i) {
    const ibv_wc wc = a.wait();
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    if ((wc.opcode & IBV_WC_RECV) != 0) {
      EXPECT_EQ(wc.wr_id, 3u);
      EXPECT_EQ(wc.byte_len, 100 + kHeader);
    }
  }
  EXPECT_EQ(ibv_destroy_ah(own), 0);
  to.dlid = 7;
  EXPECT_EQ(ibv_create_ah(a.pd, &to), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// [VRB-UD-3]
TEST(ShimDatagram, headers_of_both_versions_are_read) {
  Side a;
  union ibv_gid own;
  ASSERT_EQ(ibv_query_gid(a.context, 1, 1, &own), 0);
  ibv_grh header{};
  header.version_tclass_flow = htobe32(6u << 28 | 0x62u << 20);
  header.sgid.raw[0] = 0xFD;
  header.sgid.raw[15] = 9;
  header.dgid = own;
  ibv_wc wc{};
  wc.wc_flags = IBV_WC_GRH;
  ibv_ah_attr attr;
  ASSERT_EQ(ibv_init_ah_from_wc(a.context, 1, &wc, &header, &attr), 0);
  EXPECT_EQ(attr.grh.dgid.raw[15], 9);
  EXPECT_EQ(attr.grh.traffic_class, 0x60);
  EXPECT_EQ(attr.grh.sgid_index, 1);
  header.dgid.raw[15] ^= 0x55;  // not addressed to this device
  EXPECT_EQ(ibv_init_ah_from_wc(a.context, 1, &wc, &header, &attr), -1);
  EXPECT_EQ(errno, ENOENT);
  header.version_tclass_flow = 0;
  EXPECT_EQ(ibv_init_ah_from_wc(a.context, 1, &wc, &header, &attr), -1);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
  wc.wc_flags = 0;
  EXPECT_EQ(ibv_create_ah_from_wc(a.pd, &wc, &header, 1), nullptr);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
}

// [VRB-UD-1]: an event for solicited datagrams only, by a thread that sleeps.
TEST(ShimDatagram, solicited_datagrams_raise_events) {
  Side a, b;
  b.receive(1, 64);
  b.receive(2, 64);
  ASSERT_EQ(ibv_req_notify_cq(b.cq, 1), 0);
  a.send(a.ah, b, 8);
  EXPECT_EQ(b.wait().wr_id, 1u);
  a.send(a.ah, b, 8, IBV_SEND_SOLICITED);
  ibv_cq* cq;
  void* cq_context;
  ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
  ibv_ack_cq_events(cq, 1);
  EXPECT_EQ(b.wait().wr_id, 2u);
}

// [VRB-WR-1]
TEST(ShimDatagram, by_the_wr_interface) {
  Side a(true), b;
  b.receive(1, 64);
  b.receive(2, 64);
  ibv_qp_ex* const q = ibv_qp_to_qp_ex(a.qp);
  ASSERT_NE(q, nullptr);
  const ibv_sge s = a.sge(8);
  uint8_t inline_bytes[5] = {1, 2, 3, 4, 5};
  ibv_wr_start(q);
  q->wr_flags = IBV_SEND_SIGNALED;
  q->wr_id = 7;
  ibv_wr_send(q);
  ibv_wr_set_ud_addr(q, a.ah, b.qp->qp_num, kQkey);
  ibv_wr_set_sge(q, s.lkey, s.addr, s.length);
  q->wr_id = 8;
  ibv_wr_send_imm(q, 0x01020304);
  ibv_wr_set_ud_addr(q, a.ah, b.qp->qp_num, kQkey);
  ibv_wr_set_inline_data(q, inline_bytes, sizeof inline_bytes);
  ASSERT_EQ(ibv_wr_complete(q), 0);
  EXPECT_EQ(a.wait().wr_id, 7u);
  EXPECT_EQ(a.wait().wr_id, 8u);
  EXPECT_EQ(b.wait().byte_len, 8 + kHeader);
  const ibv_wc second = b.wait();
  EXPECT_EQ(second.imm_data, 0x01020304u);
  EXPECT_EQ(std::memcmp(b.memory.data() + kHeader, inline_bytes, sizeof inline_bytes), 0);
}

// [VRB-UD-2]
TEST(ShimDatagram, memory_that_is_not_valid_fails_the_queue_pair) {
  Side a, b;
  b.receive(1, 64, 0x100);
  b.receive(2, 64);
  a.send(a.ah, b, 8);
  EXPECT_EQ(b.wait().status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(b.wait().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_FALSE(has_async_event(b.context)) << "the completion has told [VRB-EVT-1]";
  ibv_qp_attr attr{};
  ibv_qp_init_attr init;
  ASSERT_EQ(ibv_query_qp(b.qp, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
  attr.qp_state = IBV_QPS_RESET;
  ASSERT_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
  b.start();
  b.receive(3, 64);
  a.send(a.ah, b, 8);
  EXPECT_EQ(b.wait().wr_id, 3u);
}

// [VRB-UD-5]
TEST(ShimDatagram, queue_pairs_take_the_requests_of_a_shared_queue_in_order) {
  Side a, b(false, 4);
  ibv_qp_init_attr_ex init = b.attributes();
  ibv_qp* const second = ibv_create_qp_ex(b.context, &init);
  ASSERT_NE(second, nullptr);
  b.start(second);
  ibv_recv_wr own{}, *bad;
  EXPECT_EQ(ibv_post_recv(second, &own, &bad), EINVAL);
  for (uint64_t i = 1; i <= 4; ++i) ASSERT_EQ(b.receive_shared(0x100000000 + i), 0);
  EXPECT_EQ(b.receive_shared(5), ENOMEM);
  ibv_srq_attr limit{};
  limit.srq_limit = 3;
  ASSERT_EQ(ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT), 0);
  for (uint64_t i = 1; i <= 12; ++i) {
    const uint32_t to = i % 3 == 0 ? second->qp_num : b.qp->qp_num;
    a.send(a.ah, to, 8);
    EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
    const ibv_wc got = b.wait();
    EXPECT_EQ(got.wr_id, i <= 4 ? 0x100000000 + i : i);
    EXPECT_EQ(got.qp_num, to);
    EXPECT_EQ(got.byte_len, 8 + kHeader);
    ASSERT_EQ(b.receive_shared(i + 4), 0);
  }
  ASSERT_EQ(ibv_query_srq(b.srq, &limit), 0);
  EXPECT_EQ(limit.srq_limit, 3u);  // never fewer than three were left
  EXPECT_EQ(ibv_destroy_srq(b.srq), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(second), 0);
}

// [VRB-SRQ-1] [VRB-UD-5]
TEST(ShimDatagram, a_shared_queue_changes_its_size) {
  Side a, b(false, 2);
  const auto changed = [&](uint32_t max_wr) {
    ibv_srq_attr attr{};
    attr.max_wr = max_wr;
    return ibv_modify_srq(b.srq, &attr, IBV_SRQ_MAX_WR);
  };
  for (uint64_t i = 1; i <= 2; ++i) ASSERT_EQ(b.receive_shared(i), 0);
  EXPECT_EQ(b.receive_shared(3), ENOMEM);
  EXPECT_EQ(changed(1), EINVAL);
  ASSERT_EQ(changed(40), 0);
  for (uint64_t i = 3; i <= 40; ++i) ASSERT_EQ(b.receive_shared(i), 0);
  EXPECT_EQ(b.receive_shared(41), ENOMEM);
  for (uint64_t i = 1; i <= 40; ++i) {
    a.send(a.ah, b, 8);
    EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(b.wait().wr_id, i);
  }
  ASSERT_EQ(changed(1), 0);
  ASSERT_EQ(b.receive_shared(41), 0);
  EXPECT_EQ(b.receive_shared(42), ENOMEM);
}

// [VRB-UD-5]
TEST(ShimDatagram, few_requests_in_a_shared_queue_raise_the_limits_event) {
  Side a, b(false, 4);
  for (uint64_t i = 0; i < 2; ++i) ASSERT_EQ(b.receive_shared(i), 0);
  ibv_srq_attr limit{};
  limit.srq_limit = 2;
  ASSERT_EQ(ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT), 0);
  a.send(a.ah, b, 8);
  EXPECT_EQ(b.wait().wr_id, 0u);
  ibv_async_event event;
  ASSERT_EQ(ibv_get_async_event(b.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, b.srq);
  ibv_ack_async_event(&event);
}

// [VRB-UD-5]: what a queue pair has taken is free again when it is gone, without a poll. The requests of before
// the first queue pair are used.
TEST(ShimDatagram, a_queue_pair_that_goes_returns_its_requests_to_the_shared_queue) {
  enum { kDestroyed, kReset, kDestroyedAtOnce, kRounds };
  Side a, b(false, 4);
  for (int round = 0; round < kRounds; ++round) {
    while (b.receive_shared(1) == 0) {
    }
    ibv_qp_init_attr_ex init = b.attributes();
    ibv_qp* const other = ibv_create_qp_ex(b.context, &init);
    ASSERT_NE(other, nullptr);
    b.start(other);
    ibv_srq_attr limit{};
    limit.srq_limit = round == kDestroyedAtOnce ? 0 : 1;
    ASSERT_EQ(ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT), 0);
    for (int i = 0; i < 4; ++i) a.send(a.ah, other->qp_num, 8);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
    if (limit.srq_limit > 0) {  // all have arrived
      ibv_async_event event;
      ASSERT_EQ(ibv_get_async_event(b.context, &event), 0);
      ibv_ack_async_event(&event);
    }
    ibv_qp_attr reset{};
    reset.qp_state = IBV_QPS_RESET;
    if (round == kReset) {
      ASSERT_EQ(ibv_modify_qp(other, &reset, IBV_QP_STATE), 0);
    }
    ASSERT_EQ(ibv_destroy_qp(other), 0);
    while (b.receive_shared(2) == 0) {
    }
    for (int i = 0; i < 4; ++i) a.send(a.ah, b, 8);  // there are four requests, or the last one waits for ever
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
      EXPECT_EQ(b.wait().qp_num, b.qp->qp_num);
    }
  }
}

// [VRB-UD-5]
TEST(ShimDatagram, a_shared_queue_serves_queue_pairs_of_one_kind) {
  Side b(false, 4);
  ibv_qp_init_attr_ex init = b.attributes();
  init.qp_type = IBV_QPT_RC;
  EXPECT_EQ(ibv_create_qp_ex(b.context, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_srq_init_attr attr{nullptr, {4, 1, 0}};
  ibv_srq* const other = ibv_create_srq(b.pd, &attr);
  ASSERT_NE(other, nullptr);
  init.srq = other;
  ibv_qp* const connected = ibv_create_qp_ex(b.context, &init);
  ASSERT_NE(connected, nullptr);
  init.qp_type = IBV_QPT_UD;
  EXPECT_EQ(ibv_create_qp_ex(b.context, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_qp(connected), 0);
  EXPECT_EQ(ibv_destroy_srq(other), 0);
}

// [VRB-UD-6]
TEST(ShimDatagram, multicast_reaches_every_member) {
  Side a, b;
  union ibv_gid group = group_of_ipv4(21);
  ibv_ah* const ah = handle_to(a.pd, group);
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(ibv_detach_mcast(a.qp, &group, 0), EINVAL);
  for (Side* side : {&a, &b}) {
    side->receive(5, 100 + kHeader);
    ASSERT_EQ(ibv_attach_mcast(side->qp, &group, 0), 0);
    EXPECT_EQ(ibv_attach_mcast(side->qp, &group, 0), 0);
  }
  a.send(ah, 0xFFFFFF, 100);
  const ibv_wc got = b.wait();
  EXPECT_EQ(got.wr_id, 5u);
  EXPECT_EQ(got.src_qp, a.qp->qp_num);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);  // the request, and the copy for itself
  EXPECT_EQ(ibv_destroy_qp(b.qp), EBUSY);
  for (Side* side : {&a, &b}) EXPECT_EQ(ibv_detach_mcast(side->qp, &group, 0), 0);
  group.raw[12] = 10;
  EXPECT_EQ(ibv_attach_mcast(a.qp, &group, 0), EINVAL);
  EXPECT_EQ(ibv_attach_mcast(a.qp, nullptr, 0), EINVAL);
  EXPECT_EQ(ibv_detach_mcast(a.qp, nullptr, 0), EINVAL);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);
  ibv_device_attr attr;
  ASSERT_EQ(ibv_query_device(a.context, &attr), 0);
  EXPECT_GT(attr.max_mcast_grp, 0);
}

}  // namespace
