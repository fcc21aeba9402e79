// The controller functions on a device of this process: what it offers, and what profiles do to QPs. The rules of the
// profiles themselves are tested in tests/fast/unit/ctl, and what takes threads in tests/system/unit/api. [API-CTL-*]
// [MRC-CTL-4..6]
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/controller_profiles.h"

namespace mrc::api {
namespace {

class ControllerTest : public ControllerProfiles {};

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
