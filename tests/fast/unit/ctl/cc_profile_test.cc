#include "ctl/cc_profile.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>

#include "profiles.h"

namespace mrc::ctl {
namespace {

constexpr uint64_t kCcId = 3;
constexpr int kAlgorithm = MRC_CTL_CC_PROFILE_ALGORITHM;
constexpr int kConfig = MRC_CTL_CC_PROFILE_CONFIG;

class CcProfileTest : public ::testing::Test {
 protected:
  int modify(int mask, const char* algorithm, const mrc_ctl_cc_nscc_cfg* settings, int to = -1) {
    mrc_ctl_cc_profile_attr attr{};
    attr.algorithm = algorithm;
    attr.cc_config = settings;
    if (to >= 0) {
      attr.profile_state = static_cast<mrc_ctl_profile_state>(to);
      mask |= MRC_CTL_CC_PROFILE_STATE;
    }
    return f.store.modify_cc(kCcId, attr, mask);
  }
  mrc_ctl_profile_state state() {
    mrc_ctl_cc_profile_attr attr{};
    EXPECT_EQ(f.store.query_cc(kCcId, &attr, MRC_CTL_CC_PROFILE_STATE), 0);
    return attr.profile_state;
  }
  StoreFixture f;
  mrc_ctl_cc_nscc_cfg config{};
};

// [MRC-CTL-1] [MRC-CCP-1]
TEST_F(CcProfileTest, needs_algorithm_then_configuration) {
  EXPECT_EQ(modify(0, nullptr, nullptr, kOffline), EINVAL);
  EXPECT_EQ(modify(kAlgorithm, "dcqcn", nullptr, kOffline), EINVAL);
  EXPECT_EQ(modify(kAlgorithm | kConfig, kNsccName, &config, kOnline), EINVAL);
  EXPECT_EQ(state(), kInit);
  ASSERT_EQ(modify(kAlgorithm, kNsccName, nullptr, kOffline), 0);
  EXPECT_EQ(modify(0, nullptr, nullptr, kOnline), EINVAL);
  EXPECT_EQ(modify(kConfig, nullptr, nullptr), EINVAL);
  ASSERT_EQ(modify(kConfig, nullptr, &config), 0);
  ASSERT_EQ(modify(0, nullptr, nullptr, kOnline), 0);
  EXPECT_EQ(modify(0, nullptr, nullptr, kInit), EINVAL);
  ASSERT_EQ(modify(0, nullptr, nullptr, kOffline), 0);
  EXPECT_EQ(modify(kConfig, nullptr, &config, kInit), EINVAL);
  ASSERT_EQ(modify(0, nullptr, nullptr, kInit), 0);
  EXPECT_EQ(state(), kInit);
}

TEST_F(CcProfileTest, no_algorithm_has_no_configuration) {
  ASSERT_EQ(modify(kAlgorithm, nullptr, nullptr, kOffline), 0);
  ASSERT_EQ(modify(0, nullptr, nullptr, kOnline), 0);
  mrc_ctl_cc_profile_attr attr{};
  attr.algorithm = kNsccName;
  attr.cc_config = &attr;
  ASSERT_EQ(f.store.query_cc(kCcId, &attr, kAlgorithm | kConfig), 0);
  EXPECT_EQ(attr.algorithm, nullptr);
  EXPECT_EQ(attr.cc_config, nullptr);
  EXPECT_EQ(f.store.cc(kCcId)->algorithm(), CcProfile::Algorithm::kNone);
}

// [MRC-CC-11]: what the device offers can be chosen by name; only NSCC has a configuration.
TEST_F(CcProfileTest, an_algorithm_without_configuration_needs_none) {
  Limits limits;
  limits.cc_algorithms = {kNsccName, "other"};
  CcProfile profile;
  mrc_ctl_cc_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.algorithm = "third";
  EXPECT_EQ(profile.modify(attr, MRC_CTL_CC_PROFILE_STATE | kAlgorithm, limits, 0), EINVAL);
  attr.algorithm = "other";
  attr.cc_config = &config;
  EXPECT_EQ(profile.modify(attr, MRC_CTL_CC_PROFILE_STATE | kAlgorithm | kConfig, limits, 0), 0);
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  EXPECT_EQ(profile.modify(attr, MRC_CTL_CC_PROFILE_STATE, limits, 0), 0);
  ASSERT_EQ(profile.query(&attr, kAlgorithm | kConfig), 0);
  EXPECT_STREQ(attr.algorithm, "other");
  EXPECT_EQ(attr.cc_config, nullptr);
}

// [MRC-CCP-2]
TEST_F(CcProfileTest, online_only_the_configuration_changes) {
  ASSERT_EQ(modify(kAlgorithm | kConfig, kNsccName, &config, kOffline), 0);
  ASSERT_EQ(modify(0, nullptr, nullptr, kOnline), 0);
  EXPECT_EQ(modify(kAlgorithm, nullptr, nullptr), EINVAL);
  config.max_cwnd = 100000;
  ASSERT_EQ(modify(kConfig, nullptr, &config), 0);
  mrc_ctl_cc_profile_attr attr{};
  ASSERT_EQ(f.store.query_cc(kCcId, &attr, kAlgorithm | kConfig), 0);
  EXPECT_STREQ(attr.algorithm, "uet-1.0-nscc");
  EXPECT_EQ(static_cast<const mrc_ctl_cc_nscc_cfg*>(attr.cc_config)->max_cwnd, 100000u);

  mrc_ctl_cc_profile_attr change{};
  change.algorithm = kNsccName;
  change.cc_config = &config;
  change.profile_state = kOffline;
  ProfileStore plain(Limits{}, {});
  ASSERT_EQ(plain.modify_cc(1, change, kAlgorithm | kConfig | MRC_CTL_CC_PROFILE_STATE), 0);
  change.profile_state = kOnline;
  ASSERT_EQ(plain.modify_cc(1, change, MRC_CTL_CC_PROFILE_STATE), 0);
  EXPECT_EQ(plain.modify_cc(1, change, kConfig), ENOTSUP);
}

TEST_F(CcProfileTest, busy_while_qps_hold_it) {
  ASSERT_EQ(modify(kAlgorithm, nullptr, nullptr, kOffline), 0);
  bool counted;
  EXPECT_EQ(f.store.hold_cc(kCcId, &counted), EINVAL);
  EXPECT_EQ(f.store.hold_cc(99, &counted), EINVAL);
  ASSERT_EQ(modify(0, nullptr, nullptr, kOnline), 0);
  ASSERT_EQ(f.store.hold_cc(kCcId, &counted), 0);
  EXPECT_EQ(modify(0, nullptr, nullptr, kOffline), EBUSY);
  f.store.release_cc(kCcId);
  EXPECT_EQ(modify(0, nullptr, nullptr, kOffline), 0);
}

// [MRC-CCP-3]
TEST(NsccSettings, refuses_what_cannot_be) {
  const auto with = [](auto change) {
    mrc_ctl_cc_nscc_cfg config{};
    change(&config);
    return check_nscc(config);
  };
  EXPECT_EQ(with([](auto*) {}), 0);
  EXPECT_EQ(with([](auto* c) { c->eta = -1; }), 0);
  EXPECT_EQ(with([](auto* c) { c->gamma = 1; }), 0);
  EXPECT_EQ(with([](auto* c) { c->gamma = 1.01f; }), EINVAL);
  EXPECT_EQ(with([](auto* c) { c->max_md_jump = 1.01f; }), EINVAL);
  EXPECT_EQ(with([](auto* c) { c->fi = INFINITY; }), EINVAL);
  EXPECT_EQ(with([](auto* c) { c->fi_scale = NAN; }), EINVAL);
  EXPECT_EQ(with([](auto* c) { c->qa_gate = 62; }), 0);
  EXPECT_EQ(with([](auto* c) { c->qa_gate = 63; }), EINVAL);
  EXPECT_EQ(with([](auto* c) { c->disable_qa = 2; }), EINVAL);
}

TEST_F(CcProfileTest, unknown_bits_and_too_many) {
  EXPECT_EQ(modify(1 << 12, nullptr, nullptr), EINVAL);
  mrc_ctl_cc_profile_attr attr{};
  EXPECT_EQ(f.store.query_cc(kCcId, &attr, 1 << 12), EINVAL);
  EXPECT_EQ(f.store.query_cc(kCcId, &attr, kAlgorithm), EINVAL);  // in INIT there is none
  Limits limits;
  limits.cc_profiles = 1;
  ProfileStore small(limits, {});
  attr.profile_state = kOffline;
  EXPECT_EQ(small.modify_cc(1, attr, kAlgorithm | MRC_CTL_CC_PROFILE_STATE), 0);
  EXPECT_EQ(small.modify_cc(2, attr, kAlgorithm | MRC_CTL_CC_PROFILE_STATE), E2BIG);
}

}  // namespace
}  // namespace mrc::ctl
