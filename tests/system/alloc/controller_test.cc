// The controller API when memory runs out: a call fails with ENOMEM, and what comes after it works.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "api/ev_events.h"
#include "harness/counted_new.h"
#include "mrc.h"
#include "mrc_ctl.h"
#include "mrc_soft.h"

namespace mrc::alloc {
namespace {

class ControllerMemory : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("MRC_CTL_GROUP", std::to_string(::getegid()).c_str(), 1);
    verbs_ = mrc_soft_open_device_by_name(nullptr);
    ASSERT_NE(verbs_, nullptr);
    context_ = mrc_create_context(verbs_, nullptr);
    ASSERT_NE(context_, nullptr);
    pd_ = mrc_soft_alloc_pd(verbs_);
    cq_ = mrc_create_cq(context_, 16, nullptr, nullptr, 0);
    ASSERT_NE(cq_, nullptr);
  }
  void TearDown() override {
    set_failures(0, 0);
    EXPECT_EQ(mrc_destroy_cq(cq_), 0);
    EXPECT_EQ(mrc_soft_dealloc_pd(pd_), 0);
    EXPECT_EQ(mrc_destroy_context(context_), 0);
    EXPECT_EQ(mrc_soft_close_device(verbs_), 0);
  }
  // Repeats `body` with its first, second, ... allocation failing, until nothing fails; `body` returns whether the call
  // succeeded. What is armed is up to the body.
  template <typename Body>
  static void each_allocation(const Body& body) {
    uint64_t failures = 0;
    for (uint64_t nth = 0; nth < 1000; ++nth) {
      set_failures(1, nth);
      body(nth);
      if (failed_allocations() == 0) break;
      ++failures;
    }
    EXPECT_GE(failures, 2u);
  }
  int ev_profile(uint64_t id, int mask, const mrc_ctl_ev_profile_attr& wanted) {
    mrc_ctl_ev_profile_attr attr = wanted;
    return mrc_ctl_modify_ev_profile(context_, id, &attr, mask) == 0 ? 0 : errno;
  }

  ibv_context* verbs_ = nullptr;
  mrc_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  mrc_cq* cq_ = nullptr;
};

// A profile that went ONLINE without memory for what it means to the device is usable later or refused, and no end of
// the process.
TEST_F(ControllerMemory, profile__online_and_held) {
  mrc_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq_;
  init.cap = {4, 4, 1, 1, 0};
  init.pd = pd_;
  mrc_qp* qp = mrc_create_qp(context_, &init);
  ASSERT_NE(qp, nullptr);
  ibv_qp_attr to_init{};
  to_init.qp_state = IBV_QPS_INIT;
  to_init.port_num = 1;
  ASSERT_EQ(
      mrc_modify_qp(qp, &to_init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, nullptr, 0), 0);
  each_allocation([&](uint64_t nth) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
    ASSERT_EQ(ev_profile(7,
                         MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                             MRC_CTL_EV_PROFILE_EVENT_MASK,
                         attr),
              0);
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    {
      Armed on;
      const int error = ev_profile(7, MRC_CTL_EV_PROFILE_STATE, attr);
      EXPECT_TRUE(error == 0 || error == ENOMEM) << nth << ": " << error;
    }
    const uint64_t failed = failed_allocations();
    mrc_qp_attr use{};
    use.profile.ev_profile_id = 7;
    ASSERT_EQ(mrc_ctl_query_ev_profile(context_, 7, &attr, MRC_CTL_EV_PROFILE_STATE), 0);
    EXPECT_EQ(mrc_modify_qp(qp, nullptr, 0, &use, MRC_QP_EV_PROFILE_ID),
              attr.profile_state == MRC_CTL_PROFILE_ONLINE ? 0 : EINVAL)
        << nth << " failed: " << failed;
    use.profile.ev_profile_id = 0;
    EXPECT_EQ(mrc_modify_qp(qp, nullptr, 0, &use, MRC_QP_EV_PROFILE_ID), 0);
    for (mrc_ctl_profile_state state : {MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_INIT}) {
      attr.profile_state = state;
      EXPECT_EQ(ev_profile(7, MRC_CTL_EV_PROFILE_STATE, attr), 0);
    }
  });
  EXPECT_EQ(mrc_destroy_qp(qp), 0);
}

// Answers that arrive after a call has timed out belong to no call.
TEST_F(ControllerMemory, probes__given_up) {
  union ibv_gid gid;
  ASSERT_EQ(mrc_soft_query_gid(verbs_, 1, 3, &gid), 0);
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
  ASSERT_EQ(ev_profile(7, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE, attr), 0);
  std::vector<mrc_ctl_ev_op_entry> evs(1024);
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, evs.data(), static_cast<int>(evs.size())};
  ASSERT_EQ(mrc_ctl_query_ev_profile(context_, 7, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
  std::vector<mrc_ctl_ep_req> requests;
  for (int i = 0; i < 8; ++i) {
    mrc_ctl_ep_req request{};
    request.req_id = static_cast<uint16_t>(i);
    request.dgid = gid;
    request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
    request.req_ev = evs[static_cast<size_t>(i)].ev;
    requests.push_back(request);
  }
  each_allocation([&](uint64_t nth) {
    mrc_ctl_ep_rsp answers[8];
    int n = -1;
    Armed on;
    const int result =
        mrc_ctl_ep_batch_send_wait(context_, 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(), 8, 20000000, answers, &n);
    EXPECT_TRUE(result == 0 || errno == ENOMEM || errno == ETIMEDOUT) << nth << ": " << std::strerror(errno);
  });
}

// An EV whose event found no memory reports the next time.
TEST_F(ControllerMemory, ev_event__not_kept) {
  each_allocation([&](uint64_t nth) {
    api::EvEvents events;
    const auto raise = [&](uint8_t value) {
      ctl::EvChange change{1, {}, MRC_CTL_EV_ASSUMED_BAD};
      change.ev.val[0] = value;
      return events.push(change, 1);
    };
    {
      Armed on;
      for (uint8_t value = 0; value < 40; ++value) raise(value);
    }
    const uint64_t failed = failed_allocations();
    for (uint8_t value = 0; value < 40; ++value) EXPECT_TRUE(raise(value));
    std::vector<mrc_ctl_ev_event> taken(50);
    EXPECT_EQ(events.take(50, taken.data(), sizeof taken[0], true), 40) << nth << " failed: " << failed;
  });
}

}  // namespace
}  // namespace mrc::alloc
