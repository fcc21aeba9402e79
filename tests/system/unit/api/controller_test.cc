// The controller functions on a device of this process: what it offers, who may use them, and what profiles do to QPs.
// The rules of the profiles themselves are tested in tests/fast/unit/ctl. [API-CTL-*] [MRC-CTL-4..6]
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/qp.h"
#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class ControllerTest : public ApiTest {
 protected:
  // Explicit profile ONLINE of these EVs, in a UDP format with the same number.
  int make_profile(uint64_t id, const std::vector<mrc_ctl_ev>& evs, uint32_t min_active = 1) {
    mrc_ctl_ev_fmt_field width{16};
    mrc_ctl_ev_fmt_profile_attr format{};
    format.profile_state = MRC_CTL_PROFILE_OFFLINE;
    format.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
    format.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, &width, 1};
    if (mrc_ctl_modify_ev_fmt_profile(
            context, id, &format,
            MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP) != 0)
      return errno;
    format.profile_state = MRC_CTL_PROFILE_ONLINE;
    if (mrc_ctl_modify_ev_fmt_profile(context, id, &format, MRC_CTL_EV_FMT_PROFILE_STATE) != 0) return errno;
    mrc_ctl_ev_field field{16, 0, 0, 0, 0xFFFF};
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_EXP;
    attr.ev_fmt_profile_id = id;
    attr.ev_count = static_cast<uint32_t>(evs.size());
    attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, &field, 1};
    if (mrc_ctl_modify_ev_profile(context, id, &attr,
                                  MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                      MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_EV_FIELDS_OP) != 0)
      return errno;
    std::vector<mrc_ctl_ev_op_entry> entries;
    for (const mrc_ctl_ev& ev : evs) entries.push_back({MRC_CTL_EV_UNPOPULATED, ev, MRC_CTL_EV_GOOD, 0});
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    attr.ev_min_active = min_active;
    attr.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries.data(), static_cast<int>(entries.size())};
    return mrc_ctl_modify_ev_profile(context, id, &attr,
                                     MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                         MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_OP) == 0
               ? 0
               : errno;
  }
  // The device's own EVs, as an automatic profile shows them.
  std::vector<mrc_ctl_ev> device_evs() {
    constexpr uint64_t kId = 1000;
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
    EXPECT_EQ(mrc_ctl_modify_ev_profile(context, kId, &attr, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE), 0);
    attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
    EXPECT_EQ(mrc_ctl_query_ev_profile(context, kId, &attr, MRC_CTL_EV_PROFILE_EV_OP), -1);
    EXPECT_EQ(errno, E2BIG);
    std::vector<mrc_ctl_ev_op_entry> entries(static_cast<size_t>(attr.ev_op.entry_count));
    attr.ev_op.entries = entries.data();
    EXPECT_EQ(mrc_ctl_query_ev_profile(context, kId, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
    attr.profile_state = MRC_CTL_PROFILE_INIT;
    EXPECT_EQ(mrc_ctl_modify_ev_profile(context, kId, &attr, MRC_CTL_EV_PROFILE_STATE), 0);
    std::vector<mrc_ctl_ev> evs;
    for (const mrc_ctl_ev_op_entry& entry : entries) evs.push_back(entry.ev);
    return evs;
  }
  int set_ev_state(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
    mrc_ctl_ev_op_entry entry{ev, {}, state, 0};
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1};
    return mrc_ctl_modify_ev_profile(context, id, &attr, MRC_CTL_EV_PROFILE_EV_OP);
  }
  int ev_profile_to(uint64_t id, mrc_ctl_profile_state state) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = state;
    return mrc_ctl_modify_ev_profile(context, id, &attr, MRC_CTL_EV_PROFILE_STATE) == 0 ? 0 : errno;
  }
  int make_cc(uint64_t id, const char* algorithm, const mrc_ctl_cc_nscc_cfg* config) {
    mrc_ctl_cc_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.algorithm = algorithm;
    attr.cc_config = config;
    constexpr int kMask = MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG;
    if (mrc_ctl_modify_cc_profile(context, id, &attr, kMask) != 0) return errno;
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    return mrc_ctl_modify_cc_profile(context, id, &attr, MRC_CTL_CC_PROFILE_STATE) == 0 ? 0 : errno;
  }
  static int use(End* end, uint64_t ev_profile, uint64_t cc_profile) {
    mrc_qp_attr attr{};
    attr.profile = {ev_profile, cc_profile};
    return mrc_modify_qp(end->qp, nullptr, 0, &attr, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID);
  }
  // Another end in the same engine of the device: source ports are each engine's own, and a profile of them serves no
  // queue pair of another one.
  std::unique_ptr<End> beside(const End& first) {
    std::vector<std::unique_ptr<End>> of_others;
    for (;;) {
      auto end = std::make_unique<End>(context, pd);
      if (&end->qp->device() == &first.qp->device()) return end;
      of_others.push_back(std::move(end));
    }
  }
  // Both ends, with profiles named in INIT.
  void connect_with(End* a, End* b, uint64_t ev_profile, uint64_t cc_profile) {
    for (End* end : {a, b}) {
      ASSERT_EQ(end->to_init(), 0);
      ASSERT_EQ(use(end, ev_profile, cc_profile), 0);
    }
    ASSERT_EQ(a->to_rtr(gid, b->qpn), 0);
    ASSERT_EQ(b->to_rtr(gid, a->qpn), 0);
    ASSERT_EQ(a->to_rts(), 0);
    ASSERT_EQ(b->to_rts(), 0);
  }
  void move(End* a, const End& b, int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(a->write(b, 1, End::kBytes, IBV_SEND_SIGNALED), 0);
      ASSERT_EQ(a->wait().status, IBV_WC_SUCCESS);
    }
  }
  static std::string stats(const End& end) {
    std::string text(1 << 20, '\0');
    EXPECT_GT(mrc_soft_query_qp_stats(end.qp, text.data(), text.size()), 0);
    return text;
  }
  // Data packets sent so far towards the QP's peer, by source port.
  static std::map<unsigned, unsigned long long> sent_by_port(const End& end) {
    const std::string text = stats(end);
    std::map<unsigned, unsigned long long> sent;
    for (size_t at = text.find("\nev."); at != std::string::npos; at = text.find("\nev.", at + 1)) {
      unsigned ev, plane, active;
      char state[16];
      unsigned long long tx;
      EXPECT_EQ(std::sscanf(text.c_str() + at, " ev.%u plane %u state %15s active %u tx %llu", &ev, &plane, state,
                            &active, &tx),
                5);
      if (tx > 0) sent[ev] = tx;
    }
    return sent;
  }
  static unsigned port_of(const mrc_ctl_ev& ev) { return static_cast<unsigned>(ev.val[0] << 8 | ev.val[1]); }
};

// [API-CTL-1]
TEST_F(ControllerTest, says_what_it_offers) {
  mrc_ctl_device_attr attr;
  int supported = 0;
  ASSERT_EQ(mrc_ctl_query_device_ex(verbs, context, &attr, &supported), 0);
  EXPECT_EQ(supported, 1);
  EXPECT_EQ(attr.mrc_ctl_protocol_version, 1u);
  EXPECT_EQ(attr.phy_port_mask, 0b11110u);  // ports count from 1
  EXPECT_STREQ(attr.cc.algorithms[0], "uet-1.0-nscc");
  std::set<std::string> algorithms;  // those of the registry, which registry_test.cc compares with CC profiles
  size_t count = 0;
  while (attr.cc.algorithms[count] != nullptr) algorithms.insert(attr.cc.algorithms[count++]);
  EXPECT_EQ(algorithms.size(), count);
  EXPECT_EQ(algorithms.count("swift"), 1u);
  EXPECT_EQ(attr.ev.ev_fmt_mode_mask, static_cast<uint32_t>(MRC_CTL_EV_FMT_MODE_UDP));  // what the driver can send
  EXPECT_EQ(attr.ev.ev_max_width, 16u);
  EXPECT_EQ(attr.ev.ev_mode_mask, 7u);
  EXPECT_EQ(attr.ev.ev_free_count, attr.ev.ev_max_count);
  EXPECT_NE(attr.opt_attr & MRC_CTL_OPT_CAP_EV_EVENT, 0u);
  EXPECT_EQ(attr.opt_attr & MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT, 0u);
  ASSERT_EQ(make_profile(1, device_evs()), 0);
  mrc_ctl_device_attr after;
  ASSERT_EQ(mrc_ctl_query_device(verbs, &after), 0);
  EXPECT_EQ(after.ev.ev_free_count, attr.ev.ev_free_count - device_evs().size());
}

// [API-ERR-2]
TEST_F(ControllerTest, refuses_null_and_unknown) {
  mrc_ctl_ev_fmt_profile_attr format{};
  mrc_ctl_ev_profile_attr ev{};
  mrc_ctl_cc_profile_attr cc{};
  mrc_ctl_port_attr port{};
  errno = 0;
  EXPECT_EQ(mrc_ctl_modify_ev_fmt_profile(nullptr, 1, &format, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_ctl_modify_ev_fmt_profile(context, 1, nullptr, 0), -1);
  EXPECT_EQ(mrc_ctl_query_ev_fmt_profile(context, 1, nullptr, 0), -1);
  EXPECT_EQ(mrc_ctl_modify_ev_profile(nullptr, 1, &ev, 0), -1);
  EXPECT_EQ(mrc_ctl_query_ev_profile(context, 1, nullptr, 0), -1);
  EXPECT_EQ(mrc_ctl_modify_cc_profile(nullptr, 1, &cc, 0), -1);
  EXPECT_EQ(mrc_ctl_query_cc_profile(context, 1, nullptr, 0), -1);
  EXPECT_EQ(mrc_ctl_modify_cc_profile(context, 1, &cc, 1 << 10), -1);
  EXPECT_EQ(mrc_ctl_query_port(context, 0, &port, MRC_CTL_PORT_ADMIN_STATE), -1);
  EXPECT_EQ(mrc_ctl_query_port(context, 5, &port, MRC_CTL_PORT_ADMIN_STATE), -1);
  EXPECT_EQ(mrc_ctl_query_port(context, 1, &port, 2), -1);
  port.port_admin_state = static_cast<mrc_ctl_port_admin_state>(2);
  EXPECT_EQ(mrc_ctl_modify_port(context, 1, &port, MRC_CTL_PORT_ADMIN_STATE), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ControllerTest, ports_go_down_and_up) {
  mrc_ctl_port_attr port{};
  ASSERT_EQ(mrc_ctl_query_port(context, 2, &port, MRC_CTL_PORT_ADMIN_STATE), 0);
  EXPECT_EQ(port.port_admin_state, MRC_CTL_PORT_ADMIN_ENABLED);
  for (mrc_ctl_port_admin_state state : {MRC_CTL_PORT_ADMIN_DISABLED, MRC_CTL_PORT_ADMIN_ENABLED}) {
    port.port_admin_state = state;
    ASSERT_EQ(mrc_ctl_modify_port(context, 2, &port, MRC_CTL_PORT_ADMIN_STATE), 0);
    port = {};
    ASSERT_EQ(mrc_ctl_query_port(context, 2, &port, MRC_CTL_PORT_ADMIN_STATE), 0);
    EXPECT_EQ(port.port_admin_state, state);
    ibv_port_attr seen;
    ASSERT_EQ(mrc_soft_query_port(verbs, 2, &seen), 0);
    EXPECT_EQ(seen.state == IBV_PORT_ACTIVE, state == MRC_CTL_PORT_ADMIN_ENABLED);
  }
}

// [MRC-CTL-6] A thread of root that gives up the capability and the group is refused everything but the queries of
// version and device.
TEST_F(ControllerTest, needs_the_privilege) {
  if (::geteuid() != 0) {
    std::printf("not root: only that members of the group are let in is tested\n");
    EXPECT_NE(device_evs().size(), 0u);
    return;
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

// [MRC-CTL-4]
TEST_F(ControllerTest, qps_hold_their_profiles) {
  const std::vector<mrc_ctl_ev> evs = device_evs();
  {
    End a(context, pd);
    ASSERT_EQ(a.to_init(), 0);
    EXPECT_EQ(use(&a, 7, 0), EINVAL);  // in INIT
    ASSERT_EQ(make_profile(7, {evs[0]}), 0);
    EXPECT_EQ(use(&a, 7, 8), EINVAL);
    EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_OFFLINE), 0);  // a refused call holds nothing
    EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_ONLINE), 0);
    ASSERT_EQ(make_cc(8, nullptr, nullptr), 0);
    EXPECT_EQ(use(&a, 7, 8), 0);
    mrc_qp_attr seen{};
    ASSERT_EQ(mrc_query_qp(a.qp, nullptr, 0, &seen, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID, nullptr), 0);
    EXPECT_EQ(seen.profile.ev_profile_id, 7u);
    EXPECT_EQ(seen.profile.cc_profile_id, 8u);
    EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_OFFLINE), EBUSY);
    mrc_ctl_cc_profile_attr cc{};
    cc.profile_state = MRC_CTL_PROFILE_OFFLINE;
    EXPECT_EQ(mrc_ctl_modify_cc_profile(context, 8, &cc, MRC_CTL_CC_PROFILE_STATE), -1);
    EXPECT_EQ(errno, EBUSY);
    ASSERT_EQ(a.to(IBV_QPS_RESET), 0);
    EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_OFFLINE), 0);
    EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_ONLINE), 0);
    ASSERT_EQ(a.to_init(), 0);
    EXPECT_EQ(use(&a, 7, 0), 0);
    EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_OFFLINE), EBUSY);
    EXPECT_EQ(use(&a, 0, 0), 0);  // another one, here the default
    EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_OFFLINE), 0);
    EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_ONLINE), 0);
    EXPECT_EQ(use(&a, 7, 0), 0);
  }
  EXPECT_EQ(ev_profile_to(7, MRC_CTL_PROFILE_OFFLINE), 0);  // the QP is gone
}

// [MRC-CTL-5]
TEST_F(ControllerTest, a_qp_uses_its_profiles_evs_alone) {
  const std::vector<mrc_ctl_ev> evs = device_evs();
  ASSERT_GT(evs.size(), 70u);
  mrc_ctl_ev elsewhere{};  // source port 1, with which no socket was opened: it cannot be sent
  elsewhere.val[1] = elsewhere.port = 1;
  const mrc_ctl_ev &first = evs[2], &second = evs[evs.size() - 1];  // an active one and a backup
  ASSERT_EQ(make_profile(3, {first, elsewhere, second}), 0);
  End a(context, pd);
  const std::unique_ptr<End> peer = beside(a);
  const End& b = *peer;
  connect_with(&a, peer.get(), 3, 0);
  move(&a, b, 4);
  std::map<unsigned, unsigned long long> sent = sent_by_port(a);
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_GT(sent[port_of(first)], 100u);
  EXPECT_GT(sent[port_of(second)], 100u);

  // Denied, it carries nothing more; allowed, it does again.
  ASSERT_EQ(set_ev_state(3, first, MRC_CTL_EV_DENIED), 0);
  const unsigned long long before = sent_by_port(a)[port_of(first)];
  move(&a, b, 2);
  EXPECT_EQ(sent_by_port(a)[port_of(first)], before);
  ASSERT_EQ(set_ev_state(3, first, MRC_CTL_EV_GOOD), 0);
  while (sent_by_port(a)[port_of(first)] == before) move(&a, b, 1);
}

// A QP without an EV has no timer: the call that allows one again starts it.
TEST_F(ControllerTest, an_ev_allowed_again_wakes_whoever_sleeps) {
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

TEST_F(ControllerTest, a_profile_that_the_driver_cannot_send_is_refused) {
  mrc_ctl_ev nowhere{};
  nowhere.val[1] = nowhere.port = 1;
  ASSERT_EQ(make_profile(3, {nowhere}), 0);
  End a(context, pd);
  ASSERT_EQ(a.to_init(), 0);
  EXPECT_EQ(use(&a, 3, 0), EINVAL);
}

// [MRC-CCP-1] [MRC-CCP-3]
TEST_F(ControllerTest, congestion_control_by_profile) {
  mrc_ctl_cc_nscc_cfg config{};
  config.max_cwnd = 30000;
  ASSERT_EQ(make_cc(1, "uet-1.0-nscc", &config), 0);
  ASSERT_EQ(make_cc(2, nullptr, nullptr), 0);
  const auto cwnd = [](const End& end) {
    long long value = -1;
    std::sscanf(std::strstr(stats(end).c_str(), "\ncwnd "), " cwnd %lld", &value);
    return value;
  };
  End a(context, pd), b(context, pd), c(context, pd), d(context, pd);
  connect_with(&a, &b, 0, 1);
  move(&a, b, 4);
  EXPECT_GT(cwnd(a), 0);
  EXPECT_LE(cwnd(a), 30000);
  connect_with(&c, &d, 0, 2);
  move(&c, d, 4);

  mrc_ctl_cc_profile_attr attr{};
  ASSERT_EQ(mrc_ctl_query_cc_profile(context, 1, &attr, MRC_CTL_CC_PROFILE_CONFIG), 0);
  EXPECT_EQ(static_cast<const mrc_ctl_cc_nscc_cfg*>(attr.cc_config)->max_cwnd, 30000u);
}

}  // namespace
}  // namespace mrc::api
