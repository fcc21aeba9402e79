// Fixture of the tests of controller functions: profiles of the device, QPs that use them, and what these have sent.
#pragma once

#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/qp.h"
#include "harness/api_pair.h"

namespace mrc::api {

class ControllerProfiles : public ApiTest {
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

}  // namespace mrc::api
