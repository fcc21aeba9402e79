// A child of fork has copies of its parent's queue pairs. What it posts to them is refused, because it would never
// complete. [VRB-FRK-1]
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "connected_qp.h"
#include "first_device.h"
#include "harness/limits.h"
#include "in_child.h"

namespace {

class ForkTest : public ::testing::Test {
 protected:
  ForkTest() {
    context = open_first_device();
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
    ibv_srq_init_attr shared{};
    shared.attr.max_wr = shared.attr.max_sge = 4;
    srq = ibv_create_srq(pd, &shared);
    rc = make(IBV_QPT_RC);
    ud = make(IBV_QPT_UD);
  }
  ~ForkTest() override {
    ibv_destroy_qp(rc);
    ibv_destroy_qp(ud);
    ibv_destroy_srq(srq);
    ibv_destroy_cq(cq);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
  }
  ibv_qp* make(ibv_qp_type type) const {
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = type;
    init.cap.max_send_wr = init.cap.max_recv_wr = init.cap.max_send_sge = init.cap.max_recv_sge = 4;
    init.pd = pd;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = IBV_QP_EX_WITH_SEND;
    return ibv_create_qp_ex(context, &init);
  }

  static int send(ibv_qp* qp) {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    const int error = ibv_post_send(qp, &wr, &bad);
    return error != 0 && (bad != &wr || errno != error) ? -1 : error;
  }
  static int receive(ibv_qp* qp) {
    ibv_recv_wr wr{}, *bad = nullptr;
    const int error = ibv_post_recv(qp, &wr, &bad);
    return error != 0 && bad != &wr ? -1 : error;
  }
  int receive_shared() const {
    ibv_recv_wr wr{}, *bad = nullptr;
    return ibv_post_srq_recv(srq, &wr, &bad);
  }
  static int send_by_interface(ibv_qp* qp) {
    ibv_qp_ex* const ex = ibv_qp_to_qp_ex(qp);
    ibv_wr_start(ex);
    ibv_wr_send(ex);
    return ibv_wr_complete(ex);
  }
  static int to_error(ibv_qp* qp) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
  }

  ibv_context* context;
  ibv_pd* pd;
  ibv_cq* cq;
  ibv_srq* srq;
  ibv_qp *rc, *ud;
};

TEST_F(ForkTest, posting_to_a_queue_pair_of_the_parent_is_refused) {
  ASSERT_NO_FATAL_FAILURE(connect_rc(rc, {.dest_qpn = rc->qp_num}));
  mrc::harness::in_child([&] {
    for (ibv_qp* const qp : {rc, ud}) {
      EXPECT_EQ(send(qp), EPERM);
      EXPECT_EQ(send_by_interface(qp), EPERM);
      EXPECT_EQ(receive(qp), EPERM);
      EXPECT_EQ(to_error(qp), EPERM);
    }
    EXPECT_EQ(receive_shared(), EPERM);
    ibv_wc wc;
    EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  });
  EXPECT_EQ(receive(rc), 0);  // the parent's goes on
  EXPECT_EQ(send(rc), 0);
  ibv_wc wc{};
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
}

#ifndef __SANITIZE_THREAD__  // which does not follow children of several threads
// A thread of the parent may hold any lock of the library at the fork.
TEST_F(ForkTest, a_child_ends_its_copies_whatever_the_parents_threads_do) {
  ASSERT_NO_FATAL_FAILURE(connect_rc(rc, {.dest_qpn = rc->qp_num}));
  std::atomic<bool> over{false};
  std::thread polls([&] {
    ibv_wc wc;
    for (bool sends = true; !over.load(); sends = ibv_poll_cq(cq, 1, &wc) == 1)
      if (sends && (receive(rc) != 0 || send(rc) != 0)) break;
  });
  int ended = 0;
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(mrc::harness::limit_s(20));
      ibv_wc wc;
      const bool right = ibv_poll_cq(cq, 1, &wc) == 0 && ibv_req_notify_cq(cq, 0) == EPERM && ibv_destroy_qp(rc) == 0 &&
                         ibv_destroy_srq(srq) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 &&
                         ibv_close_device(context) == 0;
      _exit(right ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    ended += status == 0 ? 1 : 0;
    if (status != 0) break;
  }
  over = true;
  polls.join();
  EXPECT_EQ(ended, 40);
}
#endif

}  // namespace
