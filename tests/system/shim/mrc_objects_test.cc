// MRC functions on objects that ibv_* of the shim made: lifetimes, protection domains of every kind, both kinds of
// queue pair side by side, events, threads and forks. [VRB-MRC-1]
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "connected_qp.h"
#include "first_device.h"
#include "harness/api_pair.h"

namespace {
const pid_t program = getpid();
}  // namespace

extern "C" int __lsan_is_turned_off();  // NOLINT(bugprone-reserved-identifier)

// Called by the leak sanitizer at exit. A child does not search: a thread of the parent may have held the sanitizer's
// allocator at the fork, and the search would wait for it for ever.
extern "C" int __lsan_is_turned_off() {  // NOLINT(bugprone-reserved-identifier)
  return getpid() != program ? 1 : 0;
}

namespace mrc::api {
namespace {

// As ApiTest, with everything from libibverbs.
class MrcObjectsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    verbs = open_first_device();
    ASSERT_NE(verbs, nullptr);
    context = mrc_create_context(verbs, nullptr);
    ASSERT_NE(context, nullptr);
    pd = ibv_alloc_pd(verbs);
    ASSERT_NE(pd, nullptr);
    ASSERT_EQ(ibv_query_gid(verbs, 1, 3, &gid), 0);
  }
  void TearDown() override {
    if (context != nullptr) {
      EXPECT_EQ(mrc_destroy_context(context), 0);
    }
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(verbs), 0);
  }
  void connect(End* a, End* b) const {
    for (End* end : {a, b}) ASSERT_EQ(end->to_init(), 0);
    ASSERT_EQ(a->to_rtr(gid, b->qpn), 0);
    ASSERT_EQ(b->to_rtr(gid, a->qpn), 0);
    for (End* end : {a, b}) ASSERT_EQ(end->to_rts(), 0);
  }
  void move_a_byte(End* a, End* b) const {
    connect(a, b);
    a->buffer[3] = 33;
    ASSERT_EQ(a->write(*b, 1, 8, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(a->wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(b->buffer[3], 33);
  }

  ibv_context* verbs = nullptr;
  mrc_context* context = nullptr;
  ibv_pd* pd = nullptr;
  union ibv_gid gid {};
};

TEST_F(MrcObjectsTest, parents_are_busy_and_stay_usable) {
  {
    End a(context, pd), b(context, pd);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(errno, EBUSY);
    EXPECT_EQ(ibv_close_device(verbs), EBUSY);
    move_a_byte(&a, &b);
  }
  EXPECT_EQ(ibv_close_device(verbs), EBUSY);  // the MRC context
}

TEST_F(MrcObjectsTest, the_domain_may_go_before_the_context_and_after_it) {
  mrc_context* const second = mrc_create_context(verbs, nullptr);
  ibv_pd* const second_pd = ibv_alloc_pd(verbs);
  { End a(second, second_pd); }
  EXPECT_EQ(ibv_dealloc_pd(second_pd), 0);
  EXPECT_EQ(mrc_destroy_context(second), 0);
  { End a(context, pd); }
  EXPECT_EQ(mrc_destroy_context(context), 0);
  context = nullptr;
}

TEST_F(MrcObjectsTest, parent_domains_serve_queue_pairs) {
  ibv_parent_domain_init_attr attr{};
  attr.pd = pd;
  ibv_pd* const parent = ibv_alloc_parent_domain(verbs, &attr);
  ASSERT_NE(parent, nullptr);
  {
    End a(context, parent), b(context, pd);
    move_a_byte(&a, &b);
    EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);
  }
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
}

TEST_F(MrcObjectsTest, a_domain_of_another_opened_device_is_refused) {
  ibv_context* const other = open_first_device();
  ibv_pd* const foreign = ibv_alloc_pd(other);
  mrc_cq* const cq = mrc_create_cq(context, 1, nullptr, nullptr, 0);
  mrc_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.pd = foreign;
  EXPECT_EQ(mrc_create_qp(context, &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
  int supported = 0;
  mrc_device_attr attr;
  EXPECT_EQ(mrc_query_device_ex(other, context, &attr, &supported), -1);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(foreign), 0);
  EXPECT_EQ(ibv_close_device(other), 0);
}

// As plugins for GPU memory do: data by MRC, and an RC queue pair connected to itself whose READ makes it visible; one
// domain, one region, one key.
TEST_F(MrcObjectsTest, a_verbs_queue_pair_shares_domain_and_region) {
  End a(context, pd), b(context, pd);
  std::vector<char> memory(4096, 'a');
  ibv_mr* const mr = ibv_reg_mr(pd, memory.data(), memory.size(),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  ASSERT_NE(mr, nullptr);
  connect(&a, &b);
  ibv_sge sge{reinterpret_cast<uint64_t>(a.buffer.data()), 64, a.mr->lkey};
  a.buffer[0] = 'm';
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(memory.data());
  wr.wr.rdma.rkey = mr->rkey;
  ibv_send_wr* bad;
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);

  ibv_cq* const cq = ibv_create_cq(verbs, 4, nullptr, nullptr, 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {1, 1, 1, 1, 0};
  ibv_qp* const flush = ibv_create_qp(pd, &init);
  ASSERT_NE(flush, nullptr);
  ASSERT_NO_FATAL_FAILURE(
      connect_rc(flush, {.dest_qpn = flush->qp_num, .access = IBV_ACCESS_REMOTE_READ, .min_rnr_timer = 12}));
  ibv_mr* const target = ibv_reg_mr(pd, b.buffer.data(), 64, IBV_ACCESS_LOCAL_WRITE);
  sge = {reinterpret_cast<uint64_t>(b.buffer.data()), 1, target->lkey};
  wr.opcode = IBV_WR_RDMA_READ;
  ASSERT_EQ(ibv_post_send(flush, &wr, &bad), 0);
  ibv_wc wc;
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(b.buffer[0], 'm');
  EXPECT_EQ(ibv_destroy_qp(flush), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dereg_mr(target), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

// Both kinds of events count on the one descriptor of the verbs context; each is handed out by its own function, and a
// wait in the one is not ended by the other's.
TEST_F(MrcObjectsTest, events_of_either_kind_come_to_their_own_function) {
  fcntl(verbs->async_fd, F_SETFL, fcntl(verbs->async_fd, F_GETFL) | O_NONBLOCK);
  EndOptions small;
  small.cqe = 1;
  End a(context, pd, small), b(context, pd);
  connect(&a, &b);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(a.write(b, i, 8, IBV_SEND_SIGNALED), 0);
  pollfd ready = {verbs->async_fd, POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, -1), 1);  // the queue of one completion is overrun
  ibv_async_event of_verbs;
  EXPECT_EQ(ibv_get_async_event(verbs, &of_verbs), -1);
  EXPECT_EQ(errno, EAGAIN);
  mrc_async_event event;
  int of_cq = 0;
  while (mrc_get_async_event(context, &event) == 0) {
    if (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == a.cq) ++of_cq;
    mrc_ack_async_event(&event);
  }
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(of_cq, 1);
}

// A thread blocks in ibv_get_async_event as long as a plugin runs, which makes no verbs queue pair.
TEST_F(MrcObjectsTest, a_port_that_goes_ends_a_wait_for_verbs_events) {
  ibv_port_attr port;
  uint8_t planes = 0;
  while (mrc_soft_query_port(verbs, static_cast<uint8_t>(planes + 1), &port) == 0) ++planes;
  ibv_async_event event{};
  std::thread waiter([&] { EXPECT_EQ(ibv_get_async_event(verbs, &event), 0); });
  for (uint8_t plane = 1; plane <= planes; ++plane) EXPECT_EQ(mrc_soft_set_port_admin(verbs, plane, 0), 0);
  waiter.join();
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event.element.port_num, 1);
  ibv_ack_async_event(&event);
  for (uint8_t plane = 1; plane <= planes; ++plane) EXPECT_EQ(mrc_soft_set_port_admin(verbs, plane, 1), 0);
}

TEST(MrcThreadsTest, each_thread_opens_connects_and_closes) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kRounds; ++i) {
        ibv_context* const verbs = open_first_device();
        ASSERT_NE(verbs, nullptr);
        mrc_context* const context = mrc_create_context(verbs, nullptr);
        ibv_pd* const pd = ibv_alloc_pd(verbs);
        union ibv_gid gid;
        ASSERT_EQ(ibv_query_gid(verbs, 1, 3, &gid), 0);
        {
          End a(context, pd);
          ASSERT_EQ(a.to_init(), 0);
          ASSERT_EQ(a.to_rtr(gid, a.qpn), 0);
          ASSERT_EQ(a.to_rts(), 0);
          ASSERT_EQ(a.write(a, 1, 8, IBV_SEND_SIGNALED), 0);
          EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
        }
        EXPECT_EQ(mrc_destroy_context(context), 0);
        EXPECT_EQ(ibv_dealloc_pd(pd), 0);
        EXPECT_EQ(ibv_close_device(verbs), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The child of a fork that never uses its copies ends as it likes; the parent's go on.
TEST_F(MrcObjectsTest, a_fork_disturbs_nothing) {
  ASSERT_EQ(ibv_fork_init(), 0);
  End a(context, pd), b(context, pd);
  const pid_t child = fork();
  if (child == 0) exit(0);  // with its destructors
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  move_a_byte(&a, &b);
}

}  // namespace
}  // namespace mrc::api
