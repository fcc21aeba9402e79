// What the controller functions do with threads of the application: who may use them, and who is woken.
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include "harness/controller_profiles.h"

namespace mrc::api {
namespace {

class ControllerThreadsTest : public ControllerProfiles {};

// [MRC-CTL-6] A thread of root that gives up the capability and the group is refused everything but the queries of
// version and device.
TEST_F(ControllerThreadsTest, needs_the_privilege) {
  if (::geteuid() != 0) {
    EXPECT_NE(device_evs().size(), 0u);
    GTEST_SKIP() << "what a thread may that gives up the privilege needs root; members of the group are let in";
  }
  std::thread([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    ASSERT_EQ(::syscall(SYS_capget, &header, data), 0);
    const auto drop_net_admin = [&] {
      data[CAP_NET_ADMIN / 32].effective &= ~(1u << (CAP_NET_ADMIN % 32));
      return ::syscall(SYS_capset, &header, data);
    };
    ASSERT_EQ(drop_net_admin(), 0);
    EXPECT_NE(device_evs().size(), 0u);  // still a member of the group
    // The system calls themselves: the library's functions would change the whole process.
    ASSERT_EQ(::syscall(SYS_setgroups, 0, nullptr), 0);
    ASSERT_EQ(::syscall(SYS_setresgid, -1, 65534, -1), 0);
    mrc_ctl_ev_fmt_profile_attr format{};
    mrc_ctl_ev_profile_attr ev{};
    mrc_ctl_cc_profile_attr cc{};
    mrc_ctl_port_attr port{};
    mrc_ctl_ep_req request{};
    mrc_ctl_ep_rsp response;
    int count;
    const auto refused = [](int result) { return result == -1 && errno == EPERM; };
    EXPECT_TRUE(refused(mrc_ctl_modify_ev_fmt_profile(context, 1, &format, 0)));
    EXPECT_TRUE(refused(mrc_ctl_query_ev_fmt_profile(context, 1, &format, 0)));
    EXPECT_TRUE(refused(mrc_ctl_modify_ev_profile(context, 1, &ev, 0)));
    EXPECT_TRUE(refused(mrc_ctl_query_ev_profile(context, 1, &ev, 0)));
    EXPECT_TRUE(refused(mrc_ctl_modify_cc_profile(context, 1, &cc, 0)));
    EXPECT_TRUE(refused(mrc_ctl_query_cc_profile(context, 1, &cc, 0)));
    EXPECT_TRUE(refused(mrc_ctl_modify_port(context, 1, &port, 0)));
    EXPECT_TRUE(refused(mrc_ctl_query_port(context, 1, &port, 0)));
    EXPECT_TRUE(
        refused(mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_EV_PROBE, &request, 1, 1, &response, &count)));
    EXPECT_EQ(mrc_ctl_create_ev_event_cq(context, 1, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EPERM);
    mrc_ctl_device_attr attr;
    EXPECT_EQ(mrc_ctl_query_device(verbs, &attr), 0);
  }).join();
}

// A QP without an EV has no timer: the call that allows one again starts it.
TEST_F(ControllerThreadsTest, an_ev_allowed_again_wakes_sleeping_threads) {
  const mrc_ctl_ev only = device_evs()[1];
  ASSERT_EQ(make_profile(3, {only}), 0);
  EndOptions options;
  options.channel = true;
  End a(context, pd, options);
  const std::unique_ptr<End> peer = beside(a);
  const End& b = *peer;
  connect_with(&a, peer.get(), 3, 0);
  move(&a, b, 1);
  ASSERT_EQ(set_ev_state(3, only, MRC_CTL_EV_DENIED), 0);
  ASSERT_EQ(mrc_req_notify_cq(a.cq, 0), 0);
  ASSERT_EQ(a.write(b, 7, 4096, IBV_SEND_SIGNALED), 0);
  std::atomic<bool> woken{false};
  std::thread sleeper([&] {
    mrc_cq* cq = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(mrc_get_cq_event(a.channel, &cq, &cq_context), 0);
    woken = true;
    mrc_ack_cq_events(cq, 1);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the device has nothing more to do
  EXPECT_FALSE(woken);
  EXPECT_EQ(set_ev_state(3, only, MRC_CTL_EV_GOOD), 0);
  sleeper.join();
  EXPECT_EQ(a.wait().wr_id, 7u);
}

}  // namespace
}  // namespace mrc::api
