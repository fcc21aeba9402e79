// Any object from any thread: what ThreadSanitizer looks at. [mrc.h, "Threads"]
#include <atomic>
#include <thread>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class ThreadsTest : public ApiTest {};

// Several threads post to one QP and poll one CQ; every request completes exactly once.
TEST_F(ThreadsTest, one_qp_and_one_cq_from_many_threads) {
  EndOptions options;
  options.max_send_wr = 64;
  End a(context, pd, options), b(context, pd);
  connect(&a, &b);
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  std::atomic<int> done{0};
  std::atomic<uint64_t> sum{0};
  const auto drain = [&] {
    ibv_wc wc[8];
    const int n = mrc_poll_cq(a.cq, 8, wc);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(wc[i].status, IBV_WC_SUCCESS);
      sum += wc[i].wr_id;
    }
    done += n;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const int id = t * kEach + i;
        while (a.write(b, static_cast<uint64_t>(id), 128, IBV_SEND_SIGNALED) != 0) drain();
        drain();
      }
      while (done < kThreads * kEach) drain();
    });
  for (std::thread& t : threads) t.join();
  constexpr uint64_t kAll = kThreads * kEach;
  EXPECT_EQ(done.load(), static_cast<int>(kAll));
  EXPECT_EQ(sum.load(), kAll * (kAll - 1) / 2);
}

// QPs come and go in one thread while another sends.
TEST_F(ThreadsTest, creating_and_destroying_beside_traffic) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  std::atomic<bool> stop{false};
  std::thread traffic([&] {
    while (!stop) {
      ASSERT_EQ(a.write(b, 1, 70000, IBV_SEND_SIGNALED), 0);
      ASSERT_EQ(a.wait().status, IBV_WC_SUCCESS);
    }
  });
  for (int i = 0; i < 50; ++i) {
    End c(context, pd), d(context, pd);
    connect(&c, &d);
    ASSERT_EQ(c.write(d, 2, 64, IBV_SEND_SIGNALED), 0);
    ASSERT_EQ(c.wait().status, IBV_WC_SUCCESS);
  }
  stop = true;
  traffic.join();
}

// One thread sleeps in the async queue while another is the cause of events, as NCCL plugins do it.
TEST_F(ThreadsTest, async_thread) {
  std::thread listener([&] {
    mrc_async_event event{};
    do {
      ASSERT_EQ(mrc_get_async_event(context, &event), 0);
      mrc_ack_async_event(&event);
    } while (event.event_type != IBV_EVENT_PORT_ACTIVE);
  });
  for (int i = 0; i < 20; ++i) {
    EndOptions local_only;
    local_only.access = IBV_ACCESS_LOCAL_WRITE;
    End a(context, pd), b(context, pd, local_only);
    connect(&a, &b);
    ASSERT_EQ(a.write(b, 3, 8, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_REM_ACCESS_ERR);
  }
  ASSERT_EQ(mrc_soft_set_port_admin(verbs, 1, 0), 0);
  ASSERT_EQ(mrc_soft_set_port_admin(verbs, 1, 1), 0);
  listener.join();
}

}  // namespace
}  // namespace mrc::api
