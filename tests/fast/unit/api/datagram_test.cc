// Datagram queue pairs of mrc_soft.h through the whole stack. [API-UD-1..4]
#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "harness/datagram_end.h"

namespace mrc::api {
namespace {

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
TEST_F(DatagramTest, invalid_requests_are_refused) {
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

// [API-UD-3] Programs make a handle for each message.
TEST_F(DatagramTest, a_destination_out_of_reach_is_explained_once) {
  static uint8_t run = 0;  // the log is the process's
  const std::string far = "2001:db8::" + std::to_string(++run);
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.hop_limit = 64;
  inet_pton(AF_INET6, far.c_str(), attr.grh.dgid.raw);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(mrc_soft_create_ah(pd, &attr), nullptr);
    EXPECT_EQ(errno, ENETUNREACH);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("no way to GID " + far + ","), std::string::npos) << log;
  EXPECT_EQ(log.find("no way to"), log.rfind("no way to")) << log;
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

}  // namespace
}  // namespace mrc::api
