// A child of fork has copies of its parent's objects. Its calls on them are refused, and the parent notices none of
// them. [API-FRK-1]
#include <atomic>
#include <cerrno>
#include <thread>

#include "harness/api_pair.h"
#include "in_child.h"

namespace mrc::api {
namespace {

class ForkTest : public ApiTest {
 protected:
  void write_and_wait(End* from, const End& to) {
    ASSERT_EQ(from->write(to, 9, 1000, IBV_SEND_SIGNALED), 0);
    const ibv_wc wc = from->wait();
    EXPECT_EQ(wc.wr_id, 9u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  }
};

template <typename Pointer>
void expect_refused(Pointer made) {
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(errno, EPERM);
  errno = 0;
}

void expect_minus_one(int result) {
  EXPECT_EQ(result, -1);
  EXPECT_EQ(errno, EPERM);
  errno = 0;
}

TEST_F(ForkTest, a_child_posts_and_changes_nothing) {
  EndOptions options;
  options.channel = true;
  End a(context, pd, options), b(context, pd);
  connect(&a, &b);
  harness::in_child([&] {
    EXPECT_EQ(a.write(b, 1, 1000, IBV_SEND_SIGNALED), EPERM);
    EXPECT_EQ(a.receive(2), EPERM);
    EXPECT_EQ(a.to(IBV_QPS_ERR), EPERM);
    EXPECT_EQ(a.state(), IBV_QPS_RTS);
    EXPECT_EQ(mrc_req_notify_cq(a.cq, 0), EPERM);
    EXPECT_EQ(mrc_soft_resize_cq(a.cq, 512), EPERM);
    EXPECT_EQ(a.poll_once(), 0);
    EXPECT_EQ(mrc_soft_set_mailbox(a.qp, nullptr, 0, 0), EPERM);
    EXPECT_EQ(mrc_soft_set_port_admin(verbs, 1, 0), EPERM);
    mrc_cq* cq;
    void* cq_context;
    expect_minus_one(mrc_get_cq_event(a.channel, &cq, &cq_context));
    mrc_async_event event;
    expect_minus_one(mrc_get_async_event(context, &event));
    mrc_ctl_port_attr port{};
    port.port_admin_state = MRC_CTL_PORT_ADMIN_DISABLED;
    expect_minus_one(mrc_ctl_modify_port(context, 1, &port, MRC_CTL_PORT_ADMIN_STATE));
  });
  write_and_wait(&a, b);
}

TEST_F(ForkTest, a_child_makes_nothing_from_what_its_parent_has) {
  End a(context, pd), b(context, pd);
  harness::in_child([&] {
    expect_refused(mrc_create_context(verbs, nullptr));
    expect_refused(mrc_create_cq(context, 16, nullptr, nullptr, 0));
    mrc_qp_init_attr init{};
    init.send_cq = init.recv_cq = a.cq;
    init.pd = pd;
    expect_refused(mrc_create_qp(context, &init));
    mrc_comp_channel* channel;
    EXPECT_EQ(mrc_create_comp_channel(context, &channel), EPERM);
    expect_refused(mrc_soft_alloc_pd(verbs));
    expect_refused(mrc_soft_reg_mr(pd, a.buffer.data(), a.buffer.size(), IBV_ACCESS_LOCAL_WRITE));
    expect_refused(mrc_soft_create_ud_srq(pd, 4, 1));
    mrc_soft_ud_init_attr datagrams{};
    datagrams.pd = pd;
    datagrams.send_cq = datagrams.recv_cq = a.cq;
    datagrams.cap = {4, 4, 1, 1, 0};
    expect_refused(mrc_soft_create_ud_qp(context, &datagrams));
  });
  connect(&a, &b);
  write_and_wait(&a, b);
}

TEST_F(ForkTest, a_child_sends_and_receives_no_datagrams) {
  mrc_cq* const cq = mrc_create_cq(context, 16, nullptr, nullptr, 0);
  mrc_soft_ud_srq* const srq = mrc_soft_create_ud_srq(pd, 4, 1);
  mrc_soft_ud_init_attr init{};
  init.pd = pd;
  init.send_cq = init.recv_cq = cq;
  init.cap = {4, 4, 1, 1, 0};
  mrc_soft_ud_qp* const qp = mrc_soft_create_ud_qp(context, &init);
  ASSERT_NE(qp, nullptr);
  harness::in_child([&] {
    ibv_send_wr send{}, *bad_send = nullptr;
    EXPECT_EQ(mrc_soft_post_ud_send(qp, &send, &bad_send), EPERM);
    EXPECT_EQ(bad_send, &send);
    ibv_recv_wr receive{}, *bad = nullptr;
    EXPECT_EQ(mrc_soft_post_ud_recv(qp, &receive, &bad), EPERM);
    EXPECT_EQ(bad, &receive);
    EXPECT_EQ(mrc_soft_post_ud_srq_recv(srq, &receive, &bad), EPERM);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    EXPECT_EQ(mrc_soft_modify_ud_qp(qp, &attr, IBV_QP_STATE), EPERM);
    EXPECT_EQ(mrc_soft_destroy_ud_qp(qp), 0);
    EXPECT_EQ(mrc_soft_destroy_ud_srq(srq), 0);
  });
  EXPECT_EQ(mrc_soft_destroy_ud_qp(qp), 0);
  EXPECT_EQ(mrc_soft_destroy_ud_srq(srq), 0);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
}

// The events are counted by descriptors that parent and child share.
TEST_F(ForkTest, objects_destroyed_by_a_child_stay_with_its_parent) {
  EndOptions options;
  options.channel = true;
  End a(context, pd, options), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(mrc_req_notify_cq(a.cq, 0), 0);
  ASSERT_EQ(a.write(b, 3, 1000, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(a.wait().wr_id, 3u);  // and the event waits
  harness::in_child([&] {
    EXPECT_EQ(mrc_destroy_qp(a.qp), 0);
    EXPECT_EQ(mrc_destroy_cq(a.cq), 0);
    EXPECT_EQ(mrc_destroy_comp_channel(a.channel), 0);
    EXPECT_EQ(mrc_soft_dereg_mr(a.mr), 0);
    EXPECT_EQ(mrc_destroy_context(context), 0);
    EXPECT_EQ(mrc_soft_dealloc_pd(pd), 0);
    EXPECT_EQ(mrc_soft_close_device(verbs), 0);
  });
  mrc_cq* cq = nullptr;
  void* cq_context;
  ASSERT_EQ(mrc_get_cq_event(a.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, a.cq);
  mrc_ack_cq_events(cq, 1);
  write_and_wait(&a, b);
}

#ifndef __SANITIZE_THREAD__  // which does not follow children of several threads
// A thread of the parent may hold any lock of the library at the fork.
TEST_F(ForkTest, a_child_waits_for_no_thread_of_its_parent) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  std::atomic<bool> over{false};
  std::thread traffic([&] {
    while (!over.load()) {
      write_and_wait(&a, b);
      ibv_mr* const mr = mrc_soft_reg_mr(pd, b.buffer.data(), 4096, IBV_ACCESS_LOCAL_WRITE);
      EXPECT_EQ(mrc_soft_dereg_mr(mr), 0);
    }
  });
  for (int i = 0; i < 40 && !HasFailure(); ++i)
    harness::in_child([&] {
      EXPECT_EQ(a.poll_once(), 0);
      EXPECT_EQ(a.write(b, 1, 1000, IBV_SEND_SIGNALED), EPERM);
      EXPECT_EQ(mrc_destroy_qp(a.qp), 0);
      EXPECT_EQ(mrc_destroy_cq(a.cq), 0);
      EXPECT_EQ(mrc_soft_dereg_mr(a.mr), 0);
      EXPECT_EQ(mrc_destroy_context(context), 0);
      EXPECT_EQ(mrc_soft_dealloc_pd(pd), 0);
      EXPECT_EQ(mrc_soft_close_device(verbs), 0);
    });
  over = true;
  traffic.join();
}
#endif

}  // namespace
}  // namespace mrc::api
