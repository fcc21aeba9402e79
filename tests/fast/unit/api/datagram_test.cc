// Datagram queue pairs of mrc_soft.h through the whole stack. [API-UD-1..5]
#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

constexpr uint32_t kQkey = 0x1111;
constexpr size_t kHeader = 40;

// One side: a queue pair, its completion queue and a registered buffer.
struct DatagramEnd {
  DatagramEnd(mrc_context* context, ibv_pd* domain, mrc_soft_ud_srq* srq = nullptr) : pd(domain), buffer(1 << 16) {
    cq = mrc_create_cq(context, 64, this, nullptr, 0);
    mrc_soft_ud_init_attr init{};
    init.pd = pd;
    init.send_cq = init.recv_cq = cq;
    init.srq = srq;
    init.cap = {8, 8, 2, 2, 64};
    qp = mrc_soft_create_ud_qp(context, &init);
    EXPECT_NE(qp, nullptr);
    EXPECT_EQ(init.cap.max_send_wr, 8u);
    mr = mrc_soft_reg_mr(pd, buffer.data(), buffer.size(), IBV_ACCESS_LOCAL_WRITE);
    EXPECT_NE(mr, nullptr);
  }
  ~DatagramEnd() {
    if (qp != nullptr) {
      EXPECT_EQ(mrc_soft_destroy_ud_qp(qp), 0);
    }
    EXPECT_EQ(mrc_soft_dereg_mr(mr), 0);
    EXPECT_EQ(mrc_destroy_cq(cq), 0);
  }
  DatagramEnd(const DatagramEnd&) = delete;
  DatagramEnd& operator=(const DatagramEnd&) = delete;

  int to(ibv_qp_state state, int more = 0) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.port_num = 1;
    attr.qkey = kQkey;
    attr.sq_psn = 7;
    return mrc_soft_modify_ud_qp(qp, &attr, IBV_QP_STATE | more);
  }
  void start() {
    ASSERT_EQ(to(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
    ASSERT_EQ(to(IBV_QPS_RTR), 0);
    ASSERT_EQ(to(IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
  }
  ibv_recv_wr receive_request(uint64_t wr_id, uint32_t n) {
    sge = {reinterpret_cast<uint64_t>(buffer.data()), n, mr->lkey};
    ibv_recv_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    return wr;
  }
  int receive(uint64_t wr_id, uint32_t n) {
    ibv_recv_wr wr = receive_request(wr_id, n), *bad;
    return mrc_soft_post_ud_recv(qp, &wr, &bad);
  }
  ibv_send_wr request(ibv_ah* ah, const DatagramEnd& peer, uint64_t wr_id, uint32_t n) {
    sge = {reinterpret_cast<uint64_t>(buffer.data()), n, mr->lkey};
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud.ah = ah;
    wr.wr.ud.remote_qpn = mrc_soft_ud_qpn(peer.qp);
    wr.wr.ud.remote_qkey = kQkey;
    return wr;
  }
  int send(ibv_send_wr wr) {
    ibv_send_wr* bad = nullptr;
    const int error = mrc_soft_post_ud_send(qp, &wr, &bad);
    EXPECT_EQ(bad, error != 0 ? &wr : nullptr);
    return error;
  }
  ibv_wc wait() {
    ibv_wc wc{};
    while (mrc_poll_cq(cq, 1, &wc) == 0) {
    }
    return wc;
  }
  int poll_once() {
    ibv_wc wc;
    return mrc_poll_cq(cq, 1, &wc);
  }

  ibv_pd* pd;
  std::vector<uint8_t> buffer;
  mrc_cq* cq = nullptr;
  mrc_soft_ud_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  ibv_sge sge{};
};

class DatagramTest : public ApiTest {
 protected:
  ibv_ah* handle(ibv_pd* domain = nullptr) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = 1;
    attr.grh.dgid = gid;
    attr.grh.sgid_index = 3;
    return mrc_soft_create_ah(domain != nullptr ? domain : pd, &attr);
  }
};

// [API-UD-1] [API-UD-4]
TEST_F(DatagramTest, data_immediate_and_source_arrive) {
  DatagramEnd a(context, pd), b(context, pd);
  a.start();
  b.start();
  ibv_ah* const ah = handle();
  ASSERT_NE(ah, nullptr);
  ASSERT_EQ(b.receive(9, 1000 + kHeader), 0);
  a.buffer.assign(a.buffer.size(), 0x5A);
  ibv_send_wr wr = a.request(ah, b, 42, 1000);
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.send_flags |= IBV_SEND_SOLICITED;
  wr.imm_data = 0x11223344;
  ASSERT_EQ(a.send(wr), 0);
  const ibv_wc sent = a.wait();
  EXPECT_EQ(sent.wr_id, 42u);
  EXPECT_EQ(sent.opcode, IBV_WC_SEND);
  EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
  const ibv_wc got = b.wait();
  EXPECT_EQ(got.wr_id, 9u);
  EXPECT_EQ(got.opcode, IBV_WC_RECV);
  EXPECT_EQ(got.byte_len, 1000 + kHeader);
  EXPECT_EQ(got.src_qp, mrc_soft_ud_qpn(a.qp));
  EXPECT_EQ(got.qp_num, mrc_soft_ud_qpn(b.qp));
  EXPECT_EQ(got.wc_flags, static_cast<unsigned>(IBV_WC_GRH) | static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(got.imm_data, 0x11223344u);
  EXPECT_EQ(got.vendor_err, MRC_SOFT_UD_SOLICITED);
  // Index 3 of the default device is an IPv4 address, and so are the GIDs of the header.
  EXPECT_EQ(got.sl, MRC_SOFT_UD_IPV4);
  EXPECT_EQ(std::memcmp(b.buffer.data() + 32, gid.raw + 12, 4), 0);
  EXPECT_EQ(std::memcmp(b.buffer.data() + 36, gid.raw + 12, 4), 0);
  EXPECT_EQ(b.buffer[kHeader + 999], 0x5A);
  EXPECT_EQ(b.buffer[kHeader + 1000], 0);
  EXPECT_EQ(mrc_soft_destroy_ah(ah), 0);
}

// [API-UD-2]
TEST_F(DatagramTest, transitions_need_what_verbs_needs) {
  DatagramEnd a(context, pd);
  ibv_ah* const ah = handle();
  EXPECT_EQ(a.to(IBV_QPS_RTR), EINVAL);
  EXPECT_EQ(a.to(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT), EINVAL);
  EXPECT_EQ(a.receive(1, 64), EINVAL);
  EXPECT_EQ(a.to(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
  EXPECT_EQ(a.receive(1, 64), 0);
  EXPECT_EQ(a.to(IBV_QPS_RTS, IBV_QP_SQ_PSN), EINVAL);
  EXPECT_EQ(a.to(IBV_QPS_RTR, IBV_QP_AV), EINVAL);
  EXPECT_EQ(a.to(IBV_QPS_RTR), 0);
  EXPECT_EQ(a.send(a.request(ah, a, 1, 8)), EINVAL);
  EXPECT_EQ(a.to(IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(a.to(IBV_QPS_SQD), EINVAL);
  EXPECT_EQ(a.to(IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
  EXPECT_EQ(a.to(IBV_QPS_ERR), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a.send(a.request(ah, a, 2, 8)), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a.to(IBV_QPS_RESET), 0);
  EXPECT_EQ(a.poll_once(), 0);
  a.start();
  EXPECT_EQ(mrc_soft_destroy_ah(ah), 0);
}

// [API-UD-3]
TEST_F(DatagramTest, what_is_refused) {
  DatagramEnd a(context, pd);
  a.start();
  ibv_ah* const ah = handle();
  ibv_send_wr wr = a.request(ah, a, 1, 8);
  wr.wr.ud.ah = nullptr;
  EXPECT_EQ(a.send(wr), EINVAL);
  wr = a.request(ah, a, 1, 8);
  wr.opcode = IBV_WR_RDMA_WRITE;
  EXPECT_EQ(a.send(wr), EINVAL);
  EXPECT_EQ(a.send(a.request(ah, a, 1, 8193)), EINVAL);
  wr = a.request(ah, a, 1, 65);
  wr.send_flags |= IBV_SEND_INLINE;
  EXPECT_EQ(a.send(wr), EINVAL);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(a.send(a.request(ah, a, 1, 8)), 0);
  EXPECT_EQ(a.send(a.request(ah, a, 1, 8)), ENOMEM);  // slots are free when their completions are polled
  a.wait();
  EXPECT_EQ(a.send(a.request(ah, a, 1, 8)), 0);
  EXPECT_EQ(mrc_soft_destroy_ah(ah), 0);

  ibv_ah_attr local{};
  local.port_num = 1;
  EXPECT_EQ(mrc_soft_create_ah(pd, &local), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_soft_create_ud_qp(context, nullptr), nullptr);
  mrc_soft_ud_init_attr init{};
  EXPECT_EQ(mrc_soft_create_ud_qp(context, &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// [API-UD-1]
TEST_F(DatagramTest, queue_pairs_share_a_receive_queue) {
  mrc_soft_ud_srq* const srq = mrc_soft_create_ud_srq(pd, 4, 1);
  ASSERT_NE(srq, nullptr);
  ibv_ah* const ah = handle();
  {
    DatagramEnd a(context, pd, srq), b(context, pd, srq), from(context, pd);
    for (DatagramEnd* end : {&a, &b, &from}) end->start();
    EXPECT_EQ(a.receive(1, 64), EINVAL);
    for (uint64_t id : {11u, 12u}) {
      ibv_recv_wr wr = a.receive_request(id, 64), *bad;
      ASSERT_EQ(mrc_soft_post_ud_srq_recv(srq, &wr, &bad), 0);
    }
    ASSERT_EQ(from.send(from.request(ah, b, 1, 8)), 0);
    EXPECT_EQ(b.wait().wr_id, 11u);
    ASSERT_EQ(from.send(from.request(ah, a, 2, 8)), 0);
    EXPECT_EQ(a.wait().wr_id, 12u);
    EXPECT_EQ(mrc_soft_destroy_ud_srq(srq), EBUSY);
  }
  EXPECT_EQ(mrc_soft_destroy_ud_srq(srq), 0);
  EXPECT_EQ(mrc_soft_destroy_ah(ah), 0);
}

class MulticastApiTest : public DatagramTest {
 protected:
  static union ibv_gid group(const char* text) {
    union ibv_gid gid {};
    EXPECT_EQ(inet_pton(AF_INET6, text, gid.raw), 1) << text;
    return gid;
  }
  ibv_ah* handle_of(const union ibv_gid& group, uint8_t hop_limit = 0) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = 1;
    attr.grh.dgid = group;
    attr.grh.sgid_index = 3;
    attr.grh.hop_limit = hop_limit;
    return mrc_soft_create_ah(pd, &attr);
  }
  static ibv_send_wr request_to(DatagramEnd& from, ibv_ah* ah) {
    ibv_send_wr wr = from.request(ah, from, 1, 100);
    wr.wr.ud.remote_qpn = 0xFFFFFF;
    return wr;
  }
};

// [API-UD-5]
TEST_F(MulticastApiTest, every_attached_queue_pair_receives_the_senders_too) {
  for (const char* text : {"::ffff:239.77.1.2", "ff15::77:1:2"}) {
    const union ibv_gid to = group(text);
    DatagramEnd a(context, pd), b(context, pd), other(context, pd);
    ibv_ah* const ah = handle_of(to, 3);
    ASSERT_NE(ah, nullptr);
    for (DatagramEnd* end : {&a, &b, &other}) {
      end->start();
      ASSERT_EQ(end->receive(7, 1000 + kHeader), 0);
    }
    for (DatagramEnd* end : {&a, &b}) ASSERT_EQ(mrc_soft_attach_mcast(end->qp, &to), 0) << std::strerror(errno);
    b.buffer.assign(b.buffer.size(), 0);
    a.buffer.assign(a.buffer.size(), 0x5A);
    ASSERT_EQ(a.send(request_to(a, ah)), 0);
    ibv_wc got = b.wait();
    EXPECT_EQ(got.opcode, IBV_WC_RECV);
    EXPECT_EQ(got.src_qp, mrc_soft_ud_qpn(a.qp));
    EXPECT_EQ(got.byte_len, 100 + kHeader);
    EXPECT_EQ(b.buffer[kHeader + 99], 0x5A);
    EXPECT_EQ(std::memcmp(b.buffer.data() + (to.raw[0] == 0xFF ? 24 : 36), to.raw + (to.raw[0] == 0xFF ? 0 : 12), 4),
              0);
    bool sent = false, received = false;
    for (int i = 0; i < 2; ++i) (a.wait().opcode == IBV_WC_SEND ? sent : received) = true;
    EXPECT_TRUE(sent && received);
    EXPECT_EQ(other.poll_once(), 0);

    // Without b, whose next receive request stays.
    ASSERT_EQ(mrc_soft_detach_mcast(b.qp, &to), 0);
    ASSERT_EQ(b.receive(8, 1000 + kHeader), 0);
    ASSERT_EQ(a.receive(8, 1000 + kHeader), 0);
    ASSERT_EQ(a.send(request_to(a, ah)), 0);
    for (int i = 0; i < 2; ++i) a.wait();
    EXPECT_EQ(b.poll_once(), 0);
    ASSERT_EQ(mrc_soft_detach_mcast(a.qp, &to), 0);
    EXPECT_EQ(mrc_soft_destroy_ah(ah), 0);
  }
}

// [API-UD-5]
TEST_F(MulticastApiTest, what_is_refused) {
  const union ibv_gid to = group("::ffff:239.77.1.3");
  DatagramEnd a(context, pd);
  a.start();
  for (const char* text : {"::1", "fe80::1", "::ffff:10.0.0.1"}) {
    const union ibv_gid host = group(text);
    EXPECT_EQ(mrc_soft_attach_mcast(a.qp, &host), EINVAL) << text;
    EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &host), EINVAL) << text;
  }
  EXPECT_EQ(mrc_soft_attach_mcast(nullptr, &to), EINVAL);
  EXPECT_EQ(mrc_soft_attach_mcast(a.qp, nullptr), EINVAL);
  EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &to), EINVAL);
  ASSERT_EQ(mrc_soft_attach_mcast(a.qp, &to), 0);
  EXPECT_EQ(mrc_soft_attach_mcast(a.qp, &to), 0);
  EXPECT_EQ(mrc_soft_destroy_ud_qp(a.qp), EBUSY);
  ibv_ah* const ah = handle_of(to);
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(a.send(a.request(ah, a, 1, 8)), EINVAL);  // not to the multicast number
  EXPECT_EQ(mrc_soft_destroy_ah(ah), 0);
  EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &to), 0);
  EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &to), EINVAL);
}

// [API-UD-5] [MRC-UD-11]
TEST_F(MulticastApiTest, limits_are_those_of_the_query) {
  ibv_device_attr attr;
  ASSERT_EQ(mrc_soft_query_device(verbs, &attr), 0);
  ASSERT_EQ(attr.max_mcast_grp, 32);
  EXPECT_EQ(attr.max_mcast_qp_attach, 64);
  EXPECT_EQ(attr.max_total_mcast_qp_attach, 32 * 64);
  DatagramEnd a(context, pd);
  union ibv_gid to = group("::ffff:239.78.0.0");
  for (int i = 0; i < attr.max_mcast_grp; ++i) {
    to.raw[15] = static_cast<uint8_t>(i);
    ASSERT_EQ(mrc_soft_attach_mcast(a.qp, &to), 0) << i << std::strerror(errno);
  }
  to.raw[15] = 99;
  EXPECT_EQ(mrc_soft_attach_mcast(a.qp, &to), ENOMEM);
  to.raw[15] = 5;
  EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &to), 0);
  to.raw[15] = 99;
  EXPECT_EQ(mrc_soft_attach_mcast(a.qp, &to), 0);
  for (int i = 0; i <= 99; ++i) {
    to.raw[15] = static_cast<uint8_t>(i);
    (void)mrc_soft_detach_mcast(a.qp, &to);
  }
}

}  // namespace
}  // namespace mrc::api
