// Handles: contexts and protection domains of another library that stand for ours. [API-HND-1]
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class HandlesTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    handle.async_fd = eventfd(0, EFD_SEMAPHORE);
    ASSERT_EQ(mrc_soft_add_context_handle(verbs, &handle), 0);
    pd_handle.context = &handle;
    ASSERT_EQ(mrc_soft_add_pd_handle(pd, &pd_handle), 0);
  }
  void TearDown() override {
    EXPECT_EQ(mrc_soft_remove_pd_handle(&pd_handle), 0);
    EXPECT_EQ(mrc_soft_remove_context_handle(&handle), 0);
    close(handle.async_fd);
    ApiTest::TearDown();
  }

  ibv_context handle{};
  ibv_pd pd_handle{};
};

TEST_F(HandlesTest, stand_for_their_context_in_every_query) {
  mrc_device_attr attr;
  mrc_ctl_device_attr control;
  ibv_port_attr port;
  int supported = 0;
  EXPECT_EQ(mrc_query_device(&handle, &attr, &supported), 0);
  EXPECT_EQ(supported, 1);
  EXPECT_EQ(mrc_query_device_ex(&handle, context, &attr, &supported), 0);
  EXPECT_EQ(mrc_ctl_query_device_ex(&handle, context, &control, &supported), 0);
  EXPECT_EQ(mrc_soft_query_port(&handle, 1, &port), 0);
  EXPECT_EQ(mrc_soft_is_soft_context(&handle), 1);
}

TEST_F(HandlesTest, data_moves_with_domain_and_context_both_given_by_handle) {
  mrc_context* made = mrc_create_context(&handle, nullptr);
  ASSERT_NE(made, nullptr);
  {
    End a(made, &pd_handle), b(made, pd);  // one domain by either name
    connect(&a, &b);
    mrc_qp_init_attr init;
    EXPECT_EQ(mrc_query_qp(a.qp, nullptr, 0, nullptr, 0, &init), 0);
    EXPECT_EQ(init.pd, &pd_handle);
    a.buffer[5] = 77;
    ASSERT_EQ(a.write(b, 1, 8, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(b.buffer[5], 77);
    // Used by a region and a queue pair, or by a context: it stays.
    EXPECT_EQ(mrc_soft_remove_pd_handle(&pd_handle), EBUSY);
    EXPECT_EQ(mrc_soft_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(mrc_soft_remove_context_handle(&handle), EBUSY);
  }
  EXPECT_EQ(mrc_soft_remove_context_handle(&handle), EBUSY);
  EXPECT_EQ(mrc_destroy_context(made), 0);
}

TEST_F(HandlesTest, keep_what_they_stand_for) {
  EXPECT_EQ(mrc_soft_dealloc_pd(pd), EBUSY);
  ibv_context* other = mrc_soft_open_device_by_name(nullptr);
  ibv_context second{};
  ASSERT_EQ(mrc_soft_add_context_handle(other, &second), 0);
  EXPECT_EQ(mrc_soft_close_device(other), EBUSY);
  EXPECT_EQ(mrc_soft_remove_context_handle(&second), 0);
  EXPECT_EQ(mrc_soft_close_device(other), 0);
  EXPECT_EQ(mrc_soft_is_soft_context(&second), 0);
}

TEST_F(HandlesTest, a_context_of_the_device_itself_does_not_hold_the_handle) {
  ibv_context second{};
  ASSERT_EQ(mrc_soft_add_context_handle(verbs, &second), 0);
  EXPECT_EQ(mrc_soft_remove_context_handle(&second), 0);  // though `context` was made from verbs
}

TEST_F(HandlesTest, foreign_and_duplicate_handles_are_refused) {
  ibv_context foreign{};
  ibv_pd foreign_pd{};
  EXPECT_EQ(mrc_soft_add_context_handle(&foreign, &handle), EINVAL);
  EXPECT_EQ(mrc_soft_add_context_handle(verbs, &handle), EINVAL);  // is one already
  EXPECT_EQ(mrc_soft_add_context_handle(verbs, nullptr), EINVAL);
  EXPECT_EQ(mrc_soft_add_context_handle(verbs, verbs), EINVAL);
  EXPECT_EQ(mrc_soft_remove_context_handle(&foreign), EINVAL);
  EXPECT_EQ(mrc_soft_remove_context_handle(verbs), EINVAL);
  EXPECT_EQ(mrc_soft_close_device(&handle), EINVAL);
  EXPECT_EQ(mrc_soft_add_pd_handle(&foreign_pd, &foreign_pd), EINVAL);
  EXPECT_EQ(mrc_soft_add_pd_handle(pd, &pd_handle), EINVAL);
  EXPECT_EQ(mrc_soft_add_pd_handle(pd, nullptr), EINVAL);
  EXPECT_EQ(mrc_soft_remove_pd_handle(&foreign_pd), EINVAL);
  EXPECT_EQ(mrc_soft_remove_pd_handle(pd), EINVAL);
  EXPECT_EQ(mrc_soft_dealloc_pd(&pd_handle), EINVAL);
}

TEST_F(HandlesTest, foreign_domains_are_refused_and_not_followed) {
  auto* foreign = reinterpret_cast<ibv_pd*>(16);
  char byte;
  EXPECT_EQ(mrc_soft_reg_mr(foreign, &byte, 1, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_soft_dealloc_pd(foreign), EINVAL);
  End a(context, pd);
  mrc_qp_init_attr init{};
  init.send_cq = init.recv_cq = a.cq;
  init.pd = foreign;
  EXPECT_EQ(mrc_create_qp(context, &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(HandlesTest, events_are_announced_on_the_descriptor_of_the_handle) {
  mrc_context* made = mrc_create_context(&handle, nullptr);
  ASSERT_NE(made, nullptr);
  pollfd of_handle = {handle.async_fd, POLLIN, 0};
  EXPECT_EQ(poll(&of_handle, 1, 0), 0);
  ASSERT_EQ(mrc_soft_set_port_admin(verbs, 1, 0), 0);
  mrc_async_event event;
  ASSERT_EQ(mrc_get_async_event(made, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
  mrc_ack_async_event(&event);
  EXPECT_EQ(poll(&of_handle, 1, 0), 0);
  ASSERT_EQ(mrc_soft_set_port_admin(verbs, 1, 1), 0);
  EXPECT_EQ(poll(&of_handle, 1, -1), 1);
  ASSERT_EQ(mrc_get_async_event(made, &event), 0);
  EXPECT_EQ(mrc_destroy_context(made), 0);
}

}  // namespace
}  // namespace mrc::api
