// Additions of mrc_soft.h for the verbs shim: mailboxes, regions for any queue pair, completion queues that grow.
#include <cerrno>
#include <cstring>
#include <numeric>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class SoftTest : public ApiTest {};

// [MRC-MBX-1]
TEST_F(SoftTest, mailbox_is_written_by_its_reserved_key) {
  End a(context, pd), b(context, pd);
  std::vector<uint8_t> box(8192, 0);
  ASSERT_EQ(mrc_soft_set_mailbox(b.qp, box.data(), box.size(), 4711), 0);
  connect(&a, &b);
  EXPECT_EQ(mrc_soft_set_mailbox(b.qp, box.data(), box.size(), 4712), EINVAL);  // packets may be on the way
  std::iota(a.buffer.begin(), a.buffer.end(), uint8_t{3});

  ibv_sge sge{reinterpret_cast<uint64_t>(a.buffer.data()), 8000, a.mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.imm_data = 0xC0FFEE;
  wr.wr.rdma.remote_addr = 192;  // an offset; the last byte of the box is written
  wr.wr.rdma.rkey = MRC_SOFT_MAILBOX_RKEY;
  ibv_send_wr* bad;
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  const ibv_wc wc = b.wait();  // no receive request was posted, none is taken
  EXPECT_EQ(wc.opcode, MRC_SOFT_WC_MAILBOX);
  EXPECT_EQ(wc.wr_id, 4711u);
  EXPECT_EQ(wc.imm_data, 0xC0FFEEu);
  EXPECT_EQ(wc.byte_len, 8000u);
  EXPECT_EQ(std::memcmp(box.data() + 192, a.buffer.data(), 8000), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);

  // In its turn: the write with immediate before it waits for a receive request, and so does the mailbox.
  ASSERT_EQ(a.write(b, 1, 64, IBV_SEND_SIGNALED, true, 5), 0);
  wr.num_sge = 0;
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(b.poll_once(), 0);
  ASSERT_EQ(b.receive(77), 0);
  EXPECT_EQ(b.wait().wr_id, 77u);
  EXPECT_EQ(b.wait().wr_id, 4711u);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);

  wr.num_sge = 1;
  wr.wr.rdma.remote_addr = 193;  // one byte too far
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(SoftTest, mailbox_key_is_refused_where_there_is_none) {
  for (int num_sge : {0, 1}) {
    End a(context, pd), b(context, pd);
    connect(&a, &b);
    ASSERT_EQ(b.receive(1), 0);
    ibv_sge sge{reinterpret_cast<uint64_t>(a.buffer.data()), 16, a.mr->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = num_sge;
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.rkey = MRC_SOFT_MAILBOX_RKEY;
    ibv_send_wr* bad;
    ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_REM_ACCESS_ERR) << num_sge;
  }
}

TEST_F(SoftTest, region_for_any_qp_is_writable_through_a_closed_one) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  ibv_qp_attr closed{};
  closed.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
  ASSERT_EQ(mrc_modify_qp(b.qp, &closed, IBV_QP_ACCESS_FLAGS, nullptr, 0), 0);
  std::vector<uint8_t> landing(64, 0);
  ibv_mr* mr = mrc_soft_reg_mr(pd, landing.data(), landing.size(),
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | MRC_SOFT_ACCESS_ANY_QP);
  ASSERT_NE(mr, nullptr);
  ibv_sge sge{reinterpret_cast<uint64_t>(a.buffer.data()), 64, a.mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {reinterpret_cast<uint64_t>(landing.data()), mr->rkey};
  ibv_send_wr* bad;
  a.buffer.assign(a.buffer.size(), 0x77);
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(landing, std::vector<uint8_t>(64, 0x77));
  ASSERT_EQ(a.write(b, 1, 64, IBV_SEND_SIGNALED), 0);  // any other region stays closed
  EXPECT_EQ(a.wait().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(mrc_soft_dereg_mr(mr), 0);
}

TEST_F(SoftTest, a_queue_grows_and_keeps_what_waits) {
  EndOptions small;
  small.cqe = 4;
  End a(context, pd), b(context, pd, small);
  connect(&a, &b);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(b.receive(i), 0);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(a.write(b, i, 8, IBV_SEND_SIGNALED, true, i), 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(mrc_soft_resize_cq(b.cq, 1), EINVAL);  // four are waiting
  EXPECT_EQ(mrc_soft_resize_cq(b.cq, 0), EINVAL);
  ASSERT_EQ(mrc_soft_resize_cq(b.cq, 6), 0);
  for (int i = 4; i < 6; ++i) {
    ASSERT_EQ(b.receive(i), 0);
    ASSERT_EQ(a.write(b, i, 8, IBV_SEND_SIGNALED, true, i), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  }
  for (uint64_t i = 0; i < 6; ++i) EXPECT_EQ(b.wait().wr_id, i);
}

}  // namespace
}  // namespace mrc::api
