// Objects that are changed while they are in use: memory regions by ibv_rereg_mr, shared receive queues by
// ibv_modify_srq. [VRB-MEM-1] [VRB-SRQ-1]
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <vector>

#include "connected_qp.h"
#include "first_device.h"

namespace {

using namespace std::chrono_literals;

constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE;
constexpr int kRemote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

ibv_sge sge(std::vector<uint8_t>* memory, const ibv_mr* mr) {
  return {reinterpret_cast<uint64_t>(memory->data()), static_cast<uint32_t>(memory->size()), mr->lkey};
}

// Two queue pairs of one device that are connected to each other, in domains of their own.
class ShimChange : public ::testing::Test {
 protected:
  void SetUp() override {
    context_ = open_first_device();
    ASSERT_NE(context_, nullptr);
    for (ibv_pd** pd : {&pd_, &peers_pd_}) *pd = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 64, nullptr, nullptr, 0);
    recv_cq_ = ibv_create_cq(context_, 64, nullptr, nullptr, 0);
    from_mr_ = ibv_reg_mr(pd_, from_.data(), from_.size(), kLocal);
    ASSERT_NE(from_mr_, nullptr);
  }
  void TearDown() override {
    if (qp_ != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(qp_), 0);
      EXPECT_EQ(ibv_destroy_qp(peer_), 0);
    }
    if (srq_ != nullptr) {
      EXPECT_EQ(ibv_destroy_srq(srq_), 0);
    }
    EXPECT_EQ(ibv_dereg_mr(from_mr_), 0);
    EXPECT_EQ(ibv_destroy_cq(cq_), 0);
    EXPECT_EQ(ibv_destroy_cq(recv_cq_), 0);
    for (ibv_pd* pd : {pd_, peers_pd_}) EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(context_), 0);
  }

  ibv_qp* made(ibv_pd* pd, ibv_srq* srq) {
    ibv_qp_init_attr init{};
    init.send_cq = cq_;
    init.recv_cq = recv_cq_;
    init.srq = srq;
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap = {8, 8, 1, 1, 0};
    return ibv_create_qp(pd, &init);
  }
  void connect() {
    qp_ = made(pd_, nullptr);
    peer_ = made(peers_pd_, srq_);
    ASSERT_NE(qp_, nullptr);
    ASSERT_NE(peer_, nullptr);
    ASSERT_NO_FATAL_FAILURE(connect_rc(qp_, {.dest_qpn = peer_->qp_num}));
    ASSERT_NO_FATAL_FAILURE(connect_rc(peer_, {.dest_qpn = qp_->qp_num, .access = IBV_ACCESS_REMOTE_WRITE}));
  }
  ibv_wc_status write(std::vector<uint8_t>* to, uint32_t rkey) {
    const auto address = reinterpret_cast<uint64_t>(to->data());
    if (post_one(qp_, IBV_WR_RDMA_WRITE, sge(&from_, from_mr_), address, rkey) != 0) return IBV_WC_FATAL_ERR;
    return status_within(cq_, 10s);
  }

  std::vector<uint8_t> from_ = std::vector<uint8_t>(64, 7), first_ = std::vector<uint8_t>(64),
                       second_ = std::vector<uint8_t>(64);
  ibv_context* context_ = nullptr;
  ibv_pd *pd_ = nullptr, *peers_pd_ = nullptr;
  ibv_cq *cq_ = nullptr, *recv_cq_ = nullptr;
  ibv_mr* from_mr_ = nullptr;
  ibv_srq* srq_ = nullptr;
  ibv_qp *qp_ = nullptr, *peer_ = nullptr;
};

// [VRB-MEM-1]
TEST_F(ShimChange, a_region_moves_to_other_memory) {
  ASSERT_NO_FATAL_FAILURE(connect());
  ibv_mr* const mr = ibv_reg_mr(peers_pd_, first_.data(), first_.size(), kRemote);
  ASSERT_NE(mr, nullptr);
  const uint32_t old = mr->rkey;
  ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, second_.data(), second_.size(), 0), 0);
  EXPECT_EQ(mr->addr, second_.data());
  EXPECT_EQ(mr->length, second_.size());
  EXPECT_EQ(write(&second_, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(second_, from_);
  EXPECT_EQ(write(&first_, old), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(first_, std::vector<uint8_t>(64));
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

// [VRB-MEM-1]
TEST_F(ShimChange, a_region_gets_rights_and_loses_them) {
  ASSERT_NO_FATAL_FAILURE(connect());
  ibv_mr* const mr = ibv_reg_mr(peers_pd_, first_.data(), first_.size(), kLocal);
  ASSERT_NE(mr, nullptr);
  ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kRemote), 0);
  EXPECT_EQ(write(&first_, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(first_, from_);
  ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kLocal), 0);
  EXPECT_EQ(write(&first_, mr->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

// [VRB-MEM-1]
TEST_F(ShimChange, a_region_changes_its_domain) {
  ASSERT_NO_FATAL_FAILURE(connect());
  ibv_pd* const other = ibv_alloc_pd(context_);
  ibv_mr* const mr = ibv_reg_mr(other, first_.data(), first_.size(), kRemote);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
  ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, peers_pd_, nullptr, 0, 0), 0);
  EXPECT_EQ(mr->pd, peers_pd_);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
  EXPECT_EQ(write(&first_, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dealloc_pd(peers_pd_), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

// [VRB-MEM-1]
TEST_F(ShimChange, a_region_that_is_refused_a_change_stays) {
  ASSERT_NO_FATAL_FAILURE(connect());
  ibv_context* const other = open_first_device();
  ibv_pd* const others_pd = ibv_alloc_pd(other);
  ibv_mr* const mr = ibv_reg_mr(peers_pd_, first_.data(), first_.size(), kRemote);
  ASSERT_NE(mr, nullptr);
  const uint32_t rkey = mr->rkey;
  constexpr int kMemory = IBV_REREG_MR_CHANGE_TRANSLATION, kPd = IBV_REREG_MR_CHANGE_PD;
  constexpr int kAccess = IBV_REREG_MR_CHANGE_ACCESS;
  const struct {
    int flags;
    ibv_pd* pd;
    void* addr;
    size_t length;
    int access, result, error;
  } cases[] = {
      {0, nullptr, nullptr, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {1 << 7, nullptr, nullptr, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kMemory, nullptr, nullptr, 64, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kMemory, nullptr, second_.data(), 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kMemory, nullptr, second_.data(), 64, kRemote, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kPd, nullptr, nullptr, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kPd, others_pd, nullptr, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kAccess, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE, IBV_REREG_MR_ERR_CMD, EINVAL},
      {kMemory, nullptr, reinterpret_cast<void*>(4096), 64, 0, IBV_REREG_MR_ERR_CMD, EFAULT},
  };
  for (const auto& c : cases) {
    errno = 0;
    EXPECT_EQ(ibv_rereg_mr(mr, c.flags, c.pd, c.addr, c.length, c.access), c.result) << &c - cases;
    EXPECT_EQ(errno, c.error) << &c - cases;
  }
  EXPECT_EQ(mr->rkey, rkey);
  EXPECT_EQ(write(&first_, rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(others_pd), 0);
  EXPECT_EQ(ibv_close_device(other), 0);
}

// [VRB-SRQ-1]
TEST_F(ShimChange, a_shared_receive_queue_changes_its_size) {
  ibv_device_attr device;
  ASSERT_EQ(ibv_query_device(context_, &device), 0);
  EXPECT_NE(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, 0u);
  ibv_srq_init_attr init{nullptr, {3, 1, 0}};
  srq_ = ibv_create_srq(peers_pd_, &init);
  ASSERT_NE(srq_, nullptr);
  ASSERT_NO_FATAL_FAILURE(connect());
  ibv_mr* const mr = ibv_reg_mr(peers_pd_, first_.data(), first_.size(), kLocal);
  const auto receive = [&](uint64_t number) {
    ibv_sge to = sge(&first_, mr);
    ibv_recv_wr wr{number, nullptr, &to, 1}, *bad;
    return ibv_post_srq_recv(srq_, &wr, &bad);
  };
  const auto changed = [&](uint32_t max_wr, uint32_t limit, int mask) {
    ibv_srq_attr attr{max_wr, 0, limit};
    return ibv_modify_srq(srq_, &attr, mask);
  };
  uint64_t next = 1;
  const auto take = [&] {
    ASSERT_EQ(post_one(qp_, IBV_WR_SEND, sge(&from_, from_mr_), 0, 0), 0);
    EXPECT_EQ(status_within(cq_, 10s), IBV_WC_SUCCESS);
    ibv_wc wc{};
    while (ibv_poll_cq(recv_cq_, 1, &wc) == 0) {
    }
    EXPECT_EQ(wc.wr_id, next++);
  };
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(receive(i), 0);
  EXPECT_EQ(receive(4), ENOMEM);
  take();
  ASSERT_EQ(receive(4), 0);  // now the oldest is not the first of the ring
  EXPECT_EQ(changed(2, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(changed(0, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(changed(static_cast<uint32_t>(device.max_srq_wr) + 1, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(changed(5, 6, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(changed(5, 2, 1 << 5), EINVAL);
  EXPECT_EQ(receive(5), ENOMEM);  // nothing has changed
  ASSERT_EQ(changed(5, 1, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
  for (uint64_t i = 5; i <= 6; ++i) ASSERT_EQ(receive(i), 0);
  EXPECT_EQ(receive(7), ENOMEM);
  ibv_srq_attr now{};
  ASSERT_EQ(ibv_query_srq(srq_, &now), 0);
  EXPECT_EQ(now.max_wr, 5u);
  EXPECT_EQ(now.srq_limit, 1u);
  for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(take());
  ASSERT_EQ(changed(1, 0, IBV_SRQ_MAX_WR), 0);
  EXPECT_EQ(receive(7), ENOMEM);
  ASSERT_NO_FATAL_FAILURE(take());
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

// [VRB-SRQ-1]: the receiver posts no request before the event.
TEST_F(ShimChange, a_limit_of_a_shared_receive_queue_that_is_empty_is_reached) {
  ibv_srq_init_attr init{nullptr, {3, 1, 0}};
  srq_ = ibv_create_srq(peers_pd_, &init);
  ASSERT_NE(srq_, nullptr);
  ASSERT_NO_FATAL_FAILURE(connect());
  ASSERT_EQ(post_one(qp_, IBV_WR_SEND, sge(&from_, from_mr_), 0, 0), 0);
  ibv_srq_attr limit{};
  limit.srq_limit = 1;
  ASSERT_EQ(ibv_modify_srq(srq_, &limit, IBV_SRQ_LIMIT), 0);
  pollfd events{context_->async_fd, POLLIN, 0};
  ASSERT_EQ(poll(&events, 1, mrc::harness::limit_ms(10000)), 1);
  ibv_async_event event;
  ASSERT_EQ(ibv_get_async_event(context_, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_query_srq(srq_, &limit), 0);
  EXPECT_EQ(limit.srq_limit, 0u);  // one event for each time it is set
}

}  // namespace
