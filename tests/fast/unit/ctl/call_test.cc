// Calls as text, and stores as the calls that make them. [MRC-MRCD-3]
#include "ctl/call.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "ctl/profile_store.h"
#include "profiles.h"

namespace mrc::ctl {
namespace {

using Json = nlohmann::json;

constexpr int kState = MRC_CTL_EV_PROFILE_STATE;

std::vector<mrc_ctl_ev> device_evs() {
  return {ev_of(1, 1), ev_of(1, 2), ev_of(2, 1), ev_of(2, 2)};
}

// Through text and back, then into a store.
int run(ProfileStore* store, const Json& text) {
  std::optional<ProfileCall> call = parse_call(Json::parse(text.dump()));
  if (!call) return -1;
  const ProfileCall moved = *std::move(call);
  return moved.apply(store);
}

Json format_text(uint64_t id) {
  static mrc_ctl_ev_fmt_field widths[] = {{16}, {16}};
  mrc_ctl_ev_fmt_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, widths, 2};
  attr.vendor_cfg[3] = 0xAB;
  return call_json(id, attr,
                   MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP |
                       MRC_CTL_EV_FMT_VENDOR_CFG);
}

Json explicit_text(uint64_t id) {
  static mrc_ctl_ev_field fields[] = {{16, 0, 0, 0, 0xFFFF}, {16, 0, 0, 0, 0}};
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_EXP;
  attr.ev_fmt_profile_id = 1;
  attr.ev_count = 3;
  attr.ev_min_active = 1;
  attr.ev_event_mask = MRC_CTL_EV_ASSUMED_BAD;
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, 2};
  return call_json(id, attr,
                   kState | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
                       MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_FIELDS_OP);
}

Json entries_text(uint64_t id, std::vector<mrc_ctl_ev_op_entry> entries) {
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries.data(), static_cast<int>(entries.size())};
  return call_json(id, attr, MRC_CTL_EV_PROFILE_EV_OP);
}

Json online(ProfileKind kind, uint64_t id) {
  mrc_ctl_ev_fmt_profile_attr format{};
  mrc_ctl_ev_profile_attr ev{};
  mrc_ctl_cc_profile_attr cc{};
  format.profile_state = ev.profile_state = cc.profile_state = MRC_CTL_PROFILE_ONLINE;
  if (kind == ProfileKind::kFormat) return call_json(id, format, kState);
  return kind == ProfileKind::kEv ? call_json(id, ev, kState) : call_json(id, cc, kState);
}

struct Filled {
  Filled() : store(limits(), device_evs()) {
    EXPECT_EQ(run(&store, format_text(1)), 0);
    EXPECT_EQ(run(&store, online(ProfileKind::kFormat, 1)), 0);
    EXPECT_EQ(run(&store, explicit_text(5)), 0);
    EXPECT_EQ(run(&store, entries_text(5, {{{}, ev_of(1, 1), MRC_CTL_EV_GOOD, 0},
                                           {{}, ev_of(1, 2), MRC_CTL_EV_DENIED, 0},
                                           {{}, ev_of(2, 1), MRC_CTL_EV_ASSUMED_BAD, 0}})),
              0);
    EXPECT_EQ(run(&store, online(ProfileKind::kEv, 5)), 0);
    mrc_ctl_cc_nscc_cfg config{};
    config.gamma = 0.25f;
    config.max_cwnd = 70000;
    config.qa_gate = 3;
    mrc_ctl_cc_profile_attr cc{};
    cc.profile_state = MRC_CTL_PROFILE_OFFLINE;
    cc.algorithm = kNsccName;
    cc.cc_config = &config;
    EXPECT_EQ(run(&store, call_json(2, cc, kState | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG)), 0);
    EXPECT_EQ(run(&store, online(ProfileKind::kCc, 2)), 0);
    cc.algorithm = nullptr;
    EXPECT_EQ(run(&store, call_json(3, cc, kState | MRC_CTL_CC_PROFILE_ALGORITHM)), 0);
  }
  static Limits limits() {
    Limits l;
    l.options = MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE | MRC_CTL_OPT_CAP_EV_EVENT;
    return l;
  }
  ProfileStore store;
};

TEST(ProfileCall, text_means_what_the_caller_meant) {
  const Filled f;
  EXPECT_EQ(f.store.format(1)->fields().size(), 2u);
  EXPECT_EQ(f.store.ev(5)->table().entries()[1].state, MRC_CTL_EV_DENIED);
  EXPECT_EQ(f.store.cc(2)->config().gamma, 0.25f);
  EXPECT_EQ(f.store.cc(2)->config().qa_gate, 3);
  EXPECT_EQ(f.store.cc(3)->algorithm(), CcProfile::Algorithm::kNone);
}

TEST(ProfileCall, a_store_is_the_calls_that_make_it) {
  const Filled f;
  ProfileStore again(Filled::limits(), device_evs());
  for (const Json& text : calls_of(f.store, true)) EXPECT_EQ(run(&again, text), 0) << text;
  EXPECT_EQ(calls_of(again, true), calls_of(f.store, true));
  EXPECT_EQ(again.ev(5)->table().entries()[2].state, MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_EQ(again.ev(5)->event_mask(), MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_EQ(again.cc(3)->state(), MRC_CTL_PROFILE_OFFLINE);

  ProfileStore of_file(Filled::limits(), device_evs());
  for (const Json& text : calls_of(f.store, false)) EXPECT_EQ(run(&of_file, text), 0) << text;
  EXPECT_EQ(of_file.ev(5)->table().entries()[1].state, MRC_CTL_EV_DENIED);
  EXPECT_EQ(of_file.ev(5)->table().entries()[2].state, MRC_CTL_EV_GOOD);  // seen, not decided
}

TEST(ProfileCall, long_tables_come_in_pieces) {
  Filled f;
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_count = 3000;
  attr.ev_mode = MRC_CTL_EV_MODE_EXP;
  attr.ev_fmt_profile_id = 1;
  mrc_ctl_ev_field fields[] = {{16, 0, 0, 0, 0xFFFF}, {16, 0, 0, 0, 0}};
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, 2};
  ASSERT_EQ(run(&f.store, call_json(6, attr,
                                    kState | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                        MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_EV_FIELDS_OP)),
            0);
  std::vector<mrc_ctl_ev_op_entry> entries(3000);
  for (uint16_t i = 0; i < 3000; ++i) {
    entries[i].ev_new.val[0] = static_cast<uint8_t>(i >> 8);
    entries[i].ev_new.val[1] = static_cast<uint8_t>(i);
    entries[i].ev_new.port = 1;
    entries[i].state = MRC_CTL_EV_GOOD;
  }
  ASSERT_EQ(run(&f.store, entries_text(6, entries)), 0);
  ProfileStore again(Filled::limits(), device_evs());
  for (const Json& text : calls_of(f.store, true)) {
    EXPECT_EQ(run(&again, text), 0);
    EXPECT_LE(text.value("entries", Json::array()).size(), 1024u);
  }
  EXPECT_EQ(calls_of(again, true), calls_of(f.store, true));
}

TEST(ProfileCall, a_callers_mistakes_stay_mistakes) {
  Filled f;
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, nullptr, 3};
  EXPECT_EQ(run(&f.store, call_json(5, attr, MRC_CTL_EV_PROFILE_EV_OP)), EINVAL);
  attr.ev_op.entry_count = -1;
  EXPECT_EQ(run(&f.store, call_json(5, attr, MRC_CTL_EV_PROFILE_EV_OP)), EINVAL);
  EXPECT_EQ(run(&f.store, call_json(5, attr, 1 << 20)), EINVAL);
  const int strange = 77;
  std::memcpy(&attr.profile_state, &strange, sizeof strange);
  EXPECT_EQ(run(&f.store, call_json(5, attr, kState)), EINVAL);
  mrc_ctl_cc_nscc_cfg config{};
  config.eta = NAN;
  mrc_ctl_cc_profile_attr cc{};
  cc.cc_config = &config;
  cc.algorithm = "another";
  cc.profile_state = MRC_CTL_PROFILE_OFFLINE;
  EXPECT_EQ(run(&f.store, call_json(9, cc, kState | MRC_CTL_CC_PROFILE_ALGORITHM)), EINVAL);
  cc.algorithm = kNsccName;
  EXPECT_EQ(run(&f.store, call_json(9, cc, kState | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG)), EINVAL);
}

TEST(ProfileCall, a_malformed_call_is_refused) {
  for (const char* text :
       {"5", "{}", R"({"kind":"ev"})", R"({"kind":"mask","id":1,"mask":0})", R"({"kind":"ev","id":1,"mask":1})",
        R"({"kind":"ev","id":"x","mask":0})", R"({"kind":"ev","id":1,"mask":128,"op":0,"entries":[["0",1,"",0,1,0]]})",
        R"({"kind":"ev","id":1,"mask":128,"op":0,"entries":[["zz",1,"",0,1,0]]})",
        R"({"kind":"cc","id":1,"mask":8,"config":{"gains":[]}})",
        R"({"kind":"format","id":1,"mask":-2147483648,"vendor":"abc"})"})
    EXPECT_FALSE(parse_call(Json::parse(text)).has_value()) << text;
}

TEST(ProfileStore, a_follower_is_not_refused_for_its_own_users) {
  Filled f;
  bool counted = false;
  ASSERT_EQ(f.store.hold_ev(5, &counted), 0);
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  EXPECT_EQ(f.store.modify_ev(5, attr, kState), EBUSY);
  f.store.follow();
  EXPECT_EQ(f.store.modify_ev(5, attr, kState), 0);
  ProfileStore other(Filled::limits(), device_evs());
  for (const Json& text : calls_of(Filled().store, true)) run(&other, text);
  f.store.replace(std::move(other));
  EXPECT_EQ(f.store.ev(5)->state(), MRC_CTL_PROFILE_ONLINE);
  ASSERT_EQ(f.store.ev_users().size(), 1u);
  EXPECT_EQ(f.store.ev_users()[0], (std::pair<uint64_t, uint32_t>{5, 1}));
  f.store.release_ev(5);
  EXPECT_TRUE(f.store.ev_users().empty());
}

TEST(ProfileStore, feed_tells_of_a_change_once) {
  Filled f;
  const auto change = f.store.feed(5, ev_of(1, 1), MRC_CTL_EV_ASSUMED_BAD);
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(change->wanted);
  EXPECT_FALSE(f.store.feed(5, ev_of(1, 1), MRC_CTL_EV_ASSUMED_BAD).has_value());
  EXPECT_FALSE(f.store.feed(5, ev_of(1, 1), MRC_CTL_EV_GOOD)->wanted);
  EXPECT_FALSE(f.store.feed(5, ev_of(1, 2), MRC_CTL_EV_GOOD).has_value());  // denied
  EXPECT_FALSE(f.store.feed(7, ev_of(1, 1), MRC_CTL_EV_GOOD).has_value());
}

// A number that was cut to the width of its member meant something else: port 257 was port 1.
TEST(ProfileCall, numbers_out_of_range_are_refused) {
  Json call;
  for (const Json& text : calls_of(Filled().store, true))
    if (text.contains("entries") && !text["entries"].empty()) call = text;
  ASSERT_FALSE(call.is_null());
  ASSERT_TRUE(parse_call(call).has_value());
  for (const Json& port : {Json(257), Json(-1), Json(1.5)}) {
    Json changed = call;
    changed["entries"][0][1] = port;
    EXPECT_FALSE(parse_call(changed).has_value()) << port;
  }
  for (const char* key : {"id", "mask"}) {
    Json changed = call;
    changed[key] = 2.5;
    EXPECT_FALSE(parse_call(changed).has_value()) << key;
  }
}

}  // namespace
}  // namespace mrc::ctl
