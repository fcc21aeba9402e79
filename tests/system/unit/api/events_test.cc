// Completion channels, arming, and asynchronous events. [API-CQ-3, API-CQ-4, API-ASY-*]
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class EventsTest : public ApiTest {
 protected:
  static bool readable(int fd) {
    pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, 0) == 1;
  }
  static int fd_of(mrc_comp_channel* channel) {
    int fd = -1;
    EXPECT_EQ(mrc_get_comp_channel_fd(channel, &fd), 0);
    return fd;
  }
  // Sleeps in the channel, acknowledges, and returns whose event it was.
  static mrc_cq* next_event(mrc_comp_channel* channel) {
    mrc_cq* cq = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(mrc_get_cq_event(channel, &cq, &cq_context), 0);
    mrc_ack_cq_events(cq, 1);
    return cq;
  }
};

EndOptions with_channel() {
  EndOptions options;
  options.channel = true;
  return options;
}

TEST_F(EventsTest, a_sleeper_is_woken_by_a_receive) {
  End a(context, pd), b(context, pd, with_channel());
  connect(&a, &b);
  ASSERT_EQ(b.receive(1), 0);
  ASSERT_EQ(mrc_req_notify_cq(b.cq, 0), 0);
  EXPECT_FALSE(readable(fd_of(b.channel)));
  ASSERT_EQ(a.write(b, 1, 8, 0, true, 5), 0);
  // Without polling, the helper thread receives.
  mrc_cq* cq;
  void* cq_context;
  ASSERT_EQ(mrc_get_cq_event(b.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, b.cq);
  EXPECT_EQ(cq_context, &b);
  EXPECT_FALSE(readable(fd_of(b.channel)));
  mrc_ack_cq_events(cq, 1);
  EXPECT_EQ(b.wait().imm_data, 5u);
}

// This thread receives or the helper does.
TEST_F(EventsTest, threads_that_wait_by_turns_in_the_call_and_at_the_descriptor) {
  End a(context, pd), b(context, pd, with_channel());
  connect(&a, &b);
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(b.receive(1), 0);
    ASSERT_EQ(mrc_req_notify_cq(b.cq, 0), 0);
    ASSERT_EQ(a.write(b, 1, 8, 0, true, 5), 0);
    if (i % 8 == 7) {
      pollfd waits = {fd_of(b.channel), POLLIN, 0};
      ASSERT_EQ(poll(&waits, 1, -1), 1);
    }
    ASSERT_EQ(next_event(b.channel), b.cq);
    ASSERT_EQ(b.wait().imm_data, 5u);
  }
}

TEST_F(EventsTest, soft_wait__as_ppoll) {
  EXPECT_EQ(mrc_soft_wait(nullptr, nullptr, 0, nullptr, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  const int fd = eventfd(0, 0);
  pollfd waits[6] = {{fd, POLLIN, 0}};  // more than the device takes in
  for (pollfd& other : waits)
    if (other.fd != fd) other = {-1, POLLIN, 0};
  constexpr timespec kNoTime{};
  for (const unsigned count : {1u, 6u}) {
    EXPECT_EQ(mrc_soft_wait(context, waits, count, &kNoTime, 0), 0);
    EXPECT_EQ(waits[0].revents, 0);
  }
  eventfd_write(fd, 1);
  for (const unsigned count : {1u, 6u}) {
    waits[0].revents = 0;
    int ready;
    while ((ready = mrc_soft_wait(context, waits, count, nullptr, 0)) == 0) {  // 0: the device had work
    }
    EXPECT_EQ(ready, 1);
    EXPECT_EQ(waits[0].revents, POLLIN);
  }
  close(fd);
}

TEST_F(EventsTest, soft_wait__receives) {
  End a(context, pd), b(context, pd, with_channel());
  connect(&a, &b);
  ASSERT_EQ(b.receive(1), 0);
  ASSERT_EQ(mrc_req_notify_cq(b.cq, 0), 0);
  ASSERT_EQ(a.write(b, 1, 8, 0, true, 5), 0);
  pollfd waits = {fd_of(b.channel), POLLIN, 0};
  while (mrc_soft_wait(context, &waits, 1, nullptr, 1) == 0) {
  }
  EXPECT_EQ(waits.revents, POLLIN);
  EXPECT_EQ(next_event(b.channel), b.cq);
}

TEST_F(EventsTest, one_event_per_arming) {
  End a(context, pd, with_channel()), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(mrc_req_notify_cq(a.cq, 0), 0);
  ASSERT_EQ(a.write(b, 1, 8, IBV_SEND_SIGNALED), 0);
  ASSERT_EQ(a.write(b, 2, 8, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(a.wait().wr_id, 1u);
  EXPECT_EQ(a.wait().wr_id, 2u);
  EXPECT_EQ(next_event(a.channel), a.cq);
  EXPECT_FALSE(readable(fd_of(a.channel)));
}

TEST_F(EventsTest, unarmed_queue_raises_nothing) {
  End a(context, pd, with_channel()), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(a.write(b, 1, 8, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(a.wait().wr_id, 1u);
  EXPECT_FALSE(readable(fd_of(a.channel)));
}

// Arm, poll, sleep: whenever a completion arrives, one of the two sees it.
TEST_F(EventsTest, no_wake_up_is_lost) {
  End a(context, pd), b(context, pd, with_channel());
  connect(&a, &b);
  constexpr int kCount = 500;
  for (int i = 0; i < 64; ++i) ASSERT_EQ(b.receive(i), 0);
  std::thread sender([&] {
    for (int i = 0; i < kCount; ++i) {
      int error;
      while ((error = a.write(b, i, 8, IBV_SEND_SIGNALED, true, i)) == ENOMEM) a.poll_once();
      ASSERT_EQ(error, 0);
      a.wait();
    }
  });
  int seen = 0;
  while (seen < kCount) {
    ASSERT_EQ(mrc_req_notify_cq(b.cq, 0), 0);
    ibv_wc wc[16];
    int n;
    int got = 0;
    while ((n = mrc_poll_cq(b.cq, 16, wc)) > 0) {
      for (int i = 0; i < n; ++i) {
        ASSERT_EQ(wc[i].status, IBV_WC_SUCCESS);
        ASSERT_EQ(b.receive(0), 0);
      }
      got += n;
    }
    seen += got;
    if (got == 0) next_event(b.channel);
  }
  EXPECT_EQ(seen, kCount);
  sender.join();
}

TEST_F(EventsTest, solicited_only_ignores_sends_but_not_errors) {
  End a(context, pd, with_channel()), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(mrc_req_notify_cq(a.cq, 1), 0);
  ASSERT_EQ(a.write(b, 1, 8, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(a.wait().wr_id, 1u);
  EXPECT_FALSE(readable(fd_of(a.channel)));
  ASSERT_EQ(a.receive(2), 0);
  ASSERT_EQ(a.to(IBV_QPS_ERR), 0);  // the receive is flushed: an error
  EXPECT_TRUE(readable(fd_of(a.channel)));
  EXPECT_EQ(next_event(a.channel), a.cq);
}

TEST_F(EventsTest, solicited_receive_wakes) {
  End a(context, pd), b(context, pd, with_channel());
  connect(&a, &b);
  ASSERT_EQ(b.receive(1), 0);
  ASSERT_EQ(mrc_req_notify_cq(b.cq, 1), 0);
  ASSERT_EQ(a.write(b, 1, 8, IBV_SEND_SOLICITED, true), 0);
  EXPECT_EQ(next_event(b.channel), b.cq);
}

TEST_F(EventsTest, non_blocking_descriptor_says_eagain) {
  End a(context, pd, with_channel());
  const int fd = fd_of(a.channel);
  ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
  mrc_cq* cq;
  void* cq_context;
  EXPECT_EQ(mrc_get_cq_event(a.channel, &cq, &cq_context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

// [API-CQ-4] The descriptor is the application's to look at, and some read it as they would any eventfd. What was read
// away loses no event, and no thread waits for it with the channel's lock held.
TEST_F(EventsTest, descriptor_read_by_the_application_blocks_no_thread) {
  End a(context, pd, with_channel()), b(context, pd);
  connect(&a, &b);
  for (uint64_t i = 1; i <= 2; ++i) {
    ASSERT_EQ(mrc_req_notify_cq(a.cq, 0), 0);
    ASSERT_EQ(a.write(b, i, 8, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(a.wait().wr_id, i);
    eventfd_t count;
    ASSERT_EQ(eventfd_read(fd_of(a.channel), &count), 0);
    if (i == 1) {
      EXPECT_EQ(next_event(a.channel), a.cq);
    }
  }
  // The second event still waits: destroying the CQ drops it without its token.
}

TEST_F(EventsTest, channel_is_busy_while_a_cq_uses_it) {
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  mrc_cq* cq = mrc_create_cq(context, 1, nullptr, channel, 0);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), EBUSY);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
}

// Waiting events vanish with their CQ, and the descriptor with them; those of other CQs stay.
TEST_F(EventsTest, destroying_a_cq_drops_its_events_only) {
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  mrc_cq* cqs[3];
  for (auto& cq : cqs) {
    cq = mrc_create_cq(context, 4, &cq, channel, 0);
    ASSERT_NE(cq, nullptr);
    EndOptions shared;
    shared.shared_cq = cq;
    End a(context, pd, shared);
    ASSERT_EQ(a.to_init(), 0);
    ASSERT_EQ(mrc_req_notify_cq(cq, 0), 0);
    ASSERT_EQ(a.receive(1), 0);
    ASSERT_EQ(a.to(IBV_QPS_ERR), 0);
  }
  EXPECT_EQ(mrc_destroy_cq(cqs[1]), 0);
  EXPECT_EQ(next_event(channel), cqs[0]);
  EXPECT_EQ(next_event(channel), cqs[2]);
  EXPECT_FALSE(readable(fd_of(channel)));
  EXPECT_EQ(mrc_destroy_cq(cqs[0]), 0);
  EXPECT_EQ(mrc_destroy_cq(cqs[2]), 0);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
}

TEST_F(EventsTest, destroying_a_cq_waits_for_acknowledgements) {
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  mrc_cq* cq = mrc_create_cq(context, 4, nullptr, channel, 0);
  {
    EndOptions shared;
    shared.shared_cq = cq;
    End a(context, pd, shared);
    ASSERT_EQ(a.to_init(), 0);
    ASSERT_EQ(mrc_req_notify_cq(cq, 0), 0);
    ASSERT_EQ(a.receive(1), 0);
    ASSERT_EQ(a.to(IBV_QPS_ERR), 0);
  }
  mrc_cq* of;
  void* cq_context;
  ASSERT_EQ(mrc_get_cq_event(channel, &of, &cq_context), 0);
  std::atomic<bool> acked{false};
  std::thread destroyer([&] {
    EXPECT_EQ(mrc_destroy_cq(cq), 0);
    EXPECT_TRUE(acked.load());
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  acked = true;
  mrc_ack_cq_events(of, 1);
  destroyer.join();
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
}

// A full ring: the QP fails, the CQ reports it once. [API-CQ-2]
TEST_F(EventsTest, overrun_cq_raises_an_error) {
  EndOptions small;
  small.cqe = 1;
  End a(context, pd, small), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(a.write(b, 1, 8, IBV_SEND_SIGNALED), 0);
  ASSERT_EQ(a.write(b, 2, 8, IBV_SEND_SIGNALED), 0);
  mrc_async_event event{};
  bool cq_error = false, qp_error = false;
  while (!cq_error || !qp_error) {
    ASSERT_EQ(mrc_get_async_event(context, &event), 0);
    if (event.event_type == IBV_EVENT_CQ_ERR) {
      EXPECT_FALSE(cq_error);
      EXPECT_EQ(event.element.cq, a.cq);
      cq_error = true;
    }
    if (event.event_type == IBV_EVENT_QP_FATAL) {
      EXPECT_EQ(event.element.qp, a.qp);
      qp_error = true;
    }
    mrc_ack_async_event(&event);
  }
  EXPECT_EQ(a.state(), IBV_QPS_ERR);
}

TEST_F(EventsTest, remote_access_error_is_an_event_at_both_ends) {
  EndOptions local_only;
  local_only.access = IBV_ACCESS_LOCAL_WRITE;
  End a(context, pd), b(context, pd, local_only);
  connect(&a, &b);
  ASSERT_EQ(a.write(b, 3, 8, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_REM_ACCESS_ERR);
  bool requester = false, responder = false;
  while (!requester || !responder) {
    mrc_async_event event{};
    ASSERT_EQ(mrc_get_async_event(context, &event), 0);
    if (event.element.qp == a.qp && event.event_type == IBV_EVENT_QP_FATAL) requester = true;
    if (event.element.qp == b.qp && event.event_type == IBV_EVENT_QP_ACCESS_ERR) responder = true;
    mrc_ack_async_event(&event);
  }
}

// The first packets of a QP, the last receive of one in error, a transfer: none of them is an event. [API-ASY-3]
TEST_F(EventsTest, states_that_mrc_does_not_have_raise_nothing) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(b.receive(1), 0);
  ASSERT_EQ(b.receive(2), 0);
  ASSERT_EQ(a.write(b, 3, 8, IBV_SEND_SIGNALED, true), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(b.wait().status, IBV_WC_SUCCESS);
  ASSERT_EQ(b.to(IBV_QPS_ERR), 0);
  EXPECT_EQ(b.wait().status, IBV_WC_WR_FLUSH_ERR);  // nothing is left in its receive queue
  EXPECT_FALSE(readable(verbs->async_fd));
}

// Port events go to every context, and the async descriptor of the verbs context signals them. [API-ASY-1]
// A plane that is disabled reads as DOWN. [API-DEV-4]
TEST_F(EventsTest, port_events_reach_every_context) {
  mrc_context* second = mrc_create_context(verbs, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_FALSE(readable(verbs->async_fd));
  mrc_ctl_port_attr port{MRC_CTL_PORT_ADMIN_DISABLED};
  ASSERT_EQ(mrc_ctl_modify_port(context, 2, &port, MRC_CTL_PORT_ADMIN_STATE), 0);
  EXPECT_TRUE(readable(verbs->async_fd));
  ibv_port_attr state;
  ASSERT_EQ(mrc_soft_query_port(verbs, 2, &state), 0);
  EXPECT_EQ(state.state, IBV_PORT_DOWN);
  ASSERT_EQ(mrc_ctl_query_port(second, 2, &port, MRC_CTL_PORT_ADMIN_STATE), 0);
  EXPECT_EQ(port.port_admin_state, MRC_CTL_PORT_ADMIN_DISABLED);
  ASSERT_EQ(mrc_soft_set_port_admin(verbs, 2, 1), 0);
  for (mrc_context* c : {context, second})
    for (ibv_event_type expected : {IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE}) {
      mrc_async_event event{};
      ASSERT_EQ(mrc_get_async_event(c, &event), 0);
      EXPECT_EQ(event.event_type, expected);
      EXPECT_EQ(event.element.port_num, 2);
      mrc_ack_async_event(&event);
    }
  EXPECT_FALSE(readable(verbs->async_fd));
  ASSERT_EQ(fcntl(verbs->async_fd, F_SETFL, O_NONBLOCK), 0);
  mrc_async_event event{};
  EXPECT_EQ(mrc_get_async_event(context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(mrc_destroy_context(second), 0);
}

// Unfetched events of a QP are discarded with it. [API-ASY-2]
TEST_F(EventsTest, destroying_a_qp_drops_its_waiting_events) {
  {
    EndOptions local_only;
    local_only.access = IBV_ACCESS_LOCAL_WRITE;
    End a(context, pd), b(context, pd, local_only);
    connect(&a, &b);
    ASSERT_EQ(a.write(b, 3, 8, IBV_SEND_SIGNALED), 0);
    a.wait();
  }
  EXPECT_FALSE(readable(verbs->async_fd));
}

}  // namespace
}  // namespace mrc::api
