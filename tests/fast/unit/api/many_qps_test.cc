// Many queue pairs: what an idle one costs, and that a thousand of them work side by side.
#include <malloc.h>

#include <vector>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

// Under a sanitizer the allocator is another one, and counts other things.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsBytes = false;
#else
constexpr bool kCountsBytes = true;
#endif
constexpr size_t kThousand = 1024;
constexpr size_t kIdleBytes = 8192;

size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class ManyQpsTest : public ApiTest {
 protected:
  mrc_qp* make(mrc_cq* cq) {
    mrc_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {128, 128, 1, 1, 0};
    init.pd = pd;
    return mrc_create_qp(context, &init);
  }
  void to_rts(mrc_qp* qp, mrc_qp* peer) {
    uint32_t qpn = 0;
    ASSERT_EQ(mrc_get_qpn(peer, &qpn), 0);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    ASSERT_EQ(mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, nullptr, 0), 0);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = qpn;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = gid;
    const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    ASSERT_EQ(mrc_modify_qp(qp, &attr, rtr, nullptr, 0), 0);
    attr.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, nullptr, 0), 0);
  }
  int write(mrc_qp* qp, End& from, End& to, size_t offset) {
    ibv_sge sge{reinterpret_cast<uint64_t>(from.buffer.data()), 64, from.mr->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(&to.buffer[offset]);
    wr.wr.rdma.rkey = to.mr->rkey;
    ibv_send_wr* bad;
    return mrc_post_send(qp, &wr, &bad);
  }
};

TEST_F(ManyQpsTest, ten_thousand_can_be_created) {
  constexpr size_t kQps = 10000;
  mrc_cq* cq = mrc_create_cq(context, 256, nullptr, nullptr, 0);
  std::vector<mrc_qp*> qps;
  qps.reserve(kQps);
  const size_t before = bytes_in_use();
  for (size_t i = 0; i < kQps; ++i) {
    qps.push_back(make(cq));
    ASSERT_NE(qps.back(), nullptr) << i;
  }
  if (kCountsBytes) {
    EXPECT_LE(bytes_in_use() - before, kQps * kIdleBytes);
  }
  for (mrc_qp* qp : qps) ASSERT_EQ(mrc_destroy_qp(qp), 0);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
}

// Connected, used once in both roles, and idle again: that is what a job has most of. What the first thousand left in
// pools is shared, so the second thousand shows the cost of one.
TEST_F(ManyQpsTest, a_thousand_work_and_cost_little_when_idle) {
  End source(context, pd), target(context, pd);
  mrc_cq* cq = mrc_create_cq(context, 4096, nullptr, nullptr, 0);
  std::vector<mrc_qp*> qps;
  size_t before = 0;
  for (int round = 0; round < 2; ++round) {
    before = bytes_in_use();
    const size_t first = qps.size();
    for (size_t i = 0; i < kThousand; ++i) {
      qps.push_back(make(cq));
      ASSERT_NE(qps.back(), nullptr);
    }
    for (size_t i = 0; i < kThousand; ++i) ASSERT_NO_FATAL_FAILURE(to_rts(qps[first + i], qps[first + (i ^ 1)]));
    for (size_t i = 0; i < kThousand; ++i) ASSERT_EQ(write(qps[first + i], source, target, (first + i) * 64), 0);
    size_t done = 0;
    ibv_wc wc[64];
    while (done < kThousand) {
      const int n = mrc_poll_cq(cq, 64, wc);
      ASSERT_GE(n, 0);
      for (int i = 0; i < n; ++i) ASSERT_EQ(wc[i].status, IBV_WC_SUCCESS);
      done += static_cast<size_t>(n);
    }
  }
  if (kCountsBytes) {
    EXPECT_LE(bytes_in_use() - before, kThousand * kIdleBytes);
  }
  for (mrc_qp* qp : qps) ASSERT_EQ(mrc_destroy_qp(qp), 0);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
}

}  // namespace
}  // namespace mrc::api
