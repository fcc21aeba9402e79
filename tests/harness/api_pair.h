// Fixture of the API tests: one software device that reaches itself, and pairs of QPs connected to each other through
// it, as a program would do it. What a test waits for either comes, or the test's own time limit ends it: no assertion
// is timed.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "mrc.h"
#include "mrc_ctl.h"
#include "mrc_soft.h"

namespace mrc::api {

// Settings of a QP of the tests; the defaults suit most.
struct EndOptions {
  int cqe = 256;
  uint32_t max_send_wr = 128;
  uint32_t max_recv_wr = 128;
  uint32_t max_send_sge = 4;
  uint32_t max_inline = 64;
  int sq_sig_all = 0;
  bool channel = false;
  mrc_cq* shared_cq = nullptr;  // for both directions
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
};

// One side: CQs, a QP and a registered buffer.
struct End {
  static constexpr size_t kBytes = 1 << 20;

  End(mrc_context* context, ibv_pd* pd, const EndOptions& options = {}) : opt(options), buffer(kBytes) {
    if (opt.channel) {
      EXPECT_EQ(mrc_create_comp_channel(context, &channel), 0);
    }
    cq = opt.shared_cq != nullptr ? opt.shared_cq : mrc_create_cq(context, opt.cqe, this, channel, 0);
    EXPECT_NE(cq, nullptr);
    mrc_qp_init_attr init{};
    init.qp_context = this;
    init.send_cq = init.recv_cq = cq;
    init.cap = {opt.max_send_wr, opt.max_recv_wr, opt.max_send_sge, 1, opt.max_inline};
    init.sq_sig_all = opt.sq_sig_all;
    init.pd = pd;
    qp = mrc_create_qp(context, &init);
    EXPECT_NE(qp, nullptr);
    EXPECT_EQ(mrc_get_qpn(qp, &qpn), 0);
    mr = mrc_soft_reg_mr(pd, buffer.data(), buffer.size(), opt.access);
    EXPECT_NE(mr, nullptr);
  }
  ~End() {
    if (qp != nullptr) {
      EXPECT_EQ(mrc_destroy_qp(qp), 0);
    }
    EXPECT_EQ(mrc_soft_dereg_mr(mr), 0);
    if (opt.shared_cq == nullptr) {
      EXPECT_EQ(mrc_destroy_cq(cq), 0);
    }
    if (channel != nullptr) {
      EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
    }
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  int to_init() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    return mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, nullptr, 0);
  }
  int to_rtr(const union ibv_gid& dgid, uint32_t dest_qpn, ibv_mtu mtu = IBV_MTU_4096) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = mtu;
    attr.dest_qp_num = dest_qpn;
    attr.rq_psn = dest_qpn & 0xFFF;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = dgid;
    attr.ah_attr.grh.sgid_index = 3;
    attr.ah_attr.port_num = 1;
    // Set as well by programs written for verbs (spec/clients.md rule 4).
    attr.max_dest_rd_atomic = 16;
    attr.min_rnr_timer = 12;
    return mrc_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                         nullptr, 0);
  }
  int to_rts() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = qpn & 0xFFF;
    attr.timeout = 14;
    attr.retry_cnt = 14;
    attr.rnr_retry = 14;
    attr.max_rd_atomic = 16;
    return mrc_modify_qp(
        qp, &attr,
        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
        nullptr, 0);
  }
  int to(ibv_qp_state state) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    return mrc_modify_qp(qp, &attr, IBV_QP_STATE, nullptr, 0);
  }
  ibv_qp_state state() {
    ibv_qp_attr attr{};
    EXPECT_EQ(mrc_query_qp(qp, &attr, IBV_QP_STATE, nullptr, 0, nullptr), 0);
    return attr.qp_state;
  }

  // Posts a write of the buffer's first bytes to the same offset of the peer's buffer.
  int write(const End& peer, uint64_t wr_id, uint32_t length, unsigned flags, bool with_imm = false, uint32_t imm = 0) {
    return write_to(peer.buffer.data(), peer.mr->rkey, wr_id, length, flags, with_imm, imm);
  }
  // The same to any address of the peer, by any key.
  int write_to(const void* address, uint32_t rkey, uint64_t wr_id, uint32_t length, unsigned flags,
               bool with_imm = false, uint32_t imm = 0) {
    return post({reinterpret_cast<uint64_t>(buffer.data()), length, mr->lkey}, address, rkey, wr_id, flags, with_imm,
                imm);
  }
  int write_from(const void* from, uint32_t lkey, const End& peer, uint64_t wr_id, uint32_t length, unsigned flags) {
    return post({reinterpret_cast<uint64_t>(from), length, lkey}, peer.buffer.data(), peer.mr->rkey, wr_id, flags,
                false, 0);
  }
  int post(ibv_sge sge, const void* address, uint32_t rkey, uint64_t wr_id, unsigned flags, bool with_imm,
           uint32_t imm) {
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = with_imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    wr.send_flags = flags;
    wr.imm_data = imm;
    wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(address);
    wr.wr.rdma.rkey = rkey;
    ibv_send_wr* bad = nullptr;
    const int error = mrc_post_send(qp, &wr, &bad);
    EXPECT_EQ(bad, error != 0 ? &wr : nullptr);
    return error;
  }
  int receive(uint64_t wr_id) {
    ibv_recv_wr wr{};
    wr.wr_id = wr_id;
    ibv_recv_wr* bad = nullptr;
    return mrc_post_recv(qp, &wr, &bad);
  }
  // The next completion, however long it takes.
  ibv_wc wait() {
    ibv_wc wc{};
    int n;
    while ((n = mrc_poll_cq(cq, 1, &wc)) == 0) {
    }
    EXPECT_EQ(n, 1);
    return wc;
  }
  int poll_once() {
    ibv_wc wc;
    return mrc_poll_cq(cq, 1, &wc);
  }

  EndOptions opt;
  std::vector<uint8_t> buffer;
  mrc_comp_channel* channel = nullptr;
  mrc_cq* cq = nullptr;
  mrc_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  uint32_t qpn = 0;
};

class ApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    verbs = mrc_soft_open_device_by_name(nullptr);
    ASSERT_NE(verbs, nullptr) << std::strerror(errno);
    context = mrc_create_context(verbs, nullptr);
    ASSERT_NE(context, nullptr);
    pd = mrc_soft_alloc_pd(verbs);
    ASSERT_NE(pd, nullptr);
    ASSERT_EQ(mrc_soft_query_gid(verbs, 1, 3, &gid), 0);
  }
  void TearDown() override {
    if (verbs == nullptr) return;
    EXPECT_EQ(mrc_destroy_context(context), 0);
    EXPECT_EQ(mrc_soft_dealloc_pd(pd), 0);
    EXPECT_EQ(mrc_soft_close_device(verbs), 0);
  }
  void connect(End* a, End* b) {
    ASSERT_EQ(a->to_init(), 0);
    ASSERT_EQ(b->to_init(), 0);
    ASSERT_EQ(a->to_rtr(gid, b->qpn), 0);
    ASSERT_EQ(b->to_rtr(gid, a->qpn), 0);
    ASSERT_EQ(a->to_rts(), 0);
    ASSERT_EQ(b->to_rts(), 0);
  }

  ibv_context* verbs = nullptr;
  mrc_context* context = nullptr;
  ibv_pd* pd = nullptr;
  union ibv_gid gid {};
};

}  // namespace mrc::api
