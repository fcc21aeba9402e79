// Datagram queue pairs of the API tests: one side, and the fixture with handles of addresses.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "harness/api_pair.h"

namespace mrc::api {

inline constexpr uint32_t kQkey = 0x1111;
inline constexpr size_t kHeader = 40;

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

}  // namespace mrc::api
