// Short ways to drive a ProfileStore as a controller does, for the tests of this folder.
#pragma once

#include <cstring>
#include <initializer_list>
#include <vector>

#include "ctl/profile_store.h"

namespace mrc::ctl {

constexpr auto kInit = MRC_CTL_PROFILE_INIT;
constexpr auto kOffline = MRC_CTL_PROFILE_OFFLINE;
constexpr auto kOnline = MRC_CTL_PROFILE_ONLINE;

inline const mrc_ctl_ev kNone{};

inline mrc_ctl_ev ev_of(uint16_t value, uint8_t port = 1) {
  mrc_ctl_ev ev{};
  ev.val[0] = static_cast<uint8_t>(value >> 8);
  ev.val[1] = static_cast<uint8_t>(value);
  ev.port = port;
  return ev;
}

// A call in the making: attributes and the mask that selects them.
struct FormatCall {
  mrc_ctl_ev_fmt_profile_attr attr{};
  int mask = 0;
  std::vector<mrc_ctl_ev_fmt_field> fields_;

  FormatCall& to(mrc_ctl_profile_state state) {
    attr.profile_state = state;
    mask |= MRC_CTL_EV_FMT_PROFILE_STATE;
    return *this;
  }
  FormatCall& from(mrc_ctl_profile_state state) {
    attr.cur_profile_state = state;
    mask |= MRC_CTL_EV_FMT_PROFILE_CUR_STATE;
    return *this;
  }
  FormatCall& mode(mrc_ctl_ev_fmt_mode mode) {
    attr.ev_fmt_mode = mode;
    mask |= MRC_CTL_EV_FMT_PROFILE_MODE;
    return *this;
  }
  FormatCall& fields(std::initializer_list<uint8_t> widths) {
    for (uint8_t width : widths) fields_.push_back({width});
    attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields_.data(), static_cast<int>(fields_.size())};
    mask |= MRC_CTL_EV_FMT_PROFILE_OP;
    return *this;
  }
  int on(ProfileStore* store, uint64_t id) { return store->modify_format(id, attr, mask); }
};

struct EvCall {
  mrc_ctl_ev_profile_attr attr{};
  int mask = 0;
  std::vector<mrc_ctl_ev_field> fields_;
  std::vector<mrc_ctl_ev_op_entry> entries_;

  EvCall& to(mrc_ctl_profile_state state) {
    attr.profile_state = state;
    mask |= MRC_CTL_EV_PROFILE_STATE;
    return *this;
  }
  EvCall& from(mrc_ctl_profile_state state) {
    attr.cur_profile_state = state;
    mask |= MRC_CTL_EV_PROFILE_CUR_STATE;
    return *this;
  }
  EvCall& mode(mrc_ctl_ev_mode mode) {
    attr.ev_mode = mode;
    mask |= MRC_CTL_EV_PROFILE_MODE;
    return *this;
  }
  EvCall& format(uint64_t id) {
    attr.ev_fmt_profile_id = id;
    mask |= MRC_CTL_EV_PROFILE_FMT_ID;
    return *this;
  }
  EvCall& count(uint32_t count) {
    attr.ev_count = count;
    mask |= MRC_CTL_EV_PROFILE_COUNT;
    return *this;
  }
  EvCall& min(uint32_t min_active) {
    attr.ev_min_active = min_active;
    mask |= MRC_CTL_EV_PROFILE_MIN_ACTIVE;
    return *this;
  }
  EvCall& events(int event_mask) {
    attr.ev_event_mask = event_mask;
    mask |= MRC_CTL_EV_PROFILE_EVENT_MASK;
    return *this;
  }
  EvCall& fields(std::vector<mrc_ctl_ev_field> fields) {
    fields_ = std::move(fields);
    attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields_.data(), static_cast<int>(fields_.size())};
    mask |= MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
    return *this;
  }
  EvCall& op(mrc_ctl_ev_op op, std::vector<mrc_ctl_ev_op_entry> entries) {
    entries_ = std::move(entries);
    attr.ev_op = {op, entries_.data(), static_cast<int>(entries_.size())};
    mask |= MRC_CTL_EV_PROFILE_EV_OP;
    return *this;
  }
  EvCall& replace(const mrc_ctl_ev& from_ev, const mrc_ctl_ev& to_ev, mrc_ctl_ev_state state = MRC_CTL_EV_GOOD,
                  uint32_t flags = 0) {
    return op(MRC_CTL_EV_OP_REPLACE_EV, {{from_ev, to_ev, state, flags}});
  }
  EvCall& set(const mrc_ctl_ev& ev, mrc_ctl_ev_state state, uint32_t flags = 0) {
    return op(MRC_CTL_EV_OP_MODIFY_EV_STATE, {{ev, {}, state, flags}});
  }
  int on(ProfileStore* store, uint64_t id) { return store->modify_ev(id, attr, mask); }
};

// A device of four ports with eight EVs of its own, every optional feature, and two formats ONLINE: id 1 UDP with one
// field of 16 bits, id 2 SRv6 with six of 16 after a block of 32.
struct StoreFixture {
  static Limits all() {
    Limits limits;
    limits.options =
        MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE | MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE | MRC_CTL_OPT_CAP_EV_EVENT;
    return limits;
  }
  static std::vector<mrc_ctl_ev> device_evs() {
    std::vector<mrc_ctl_ev> evs;
    for (uint16_t i = 0; i < 8; ++i)
      evs.push_back(ev_of(static_cast<uint16_t>(0x4000 + i), static_cast<uint8_t>(1 + i % 4)));
    return evs;
  }
  explicit StoreFixture(const Limits& limits = all()) : store(limits, device_evs()) {
    if ((limits.format_modes & MRC_CTL_EV_FMT_MODE_UDP) != 0) {
      FormatCall().mode(MRC_CTL_EV_FMT_MODE_UDP).fields({16}).to(kOffline).on(&store, 1);
      FormatCall().to(kOnline).on(&store, 1);
    }
    if ((limits.format_modes & MRC_CTL_EV_FMT_MODE_SRV6) != 0) {
      FormatCall().mode(MRC_CTL_EV_FMT_MODE_SRV6).fields({32, 16, 16, 16, 16, 16, 16}).to(kOffline).on(&store, 2);
      FormatCall().to(kOnline).on(&store, 2);
    }
  }
  static std::vector<mrc_ctl_ev_field> port_field() { return {{16, 0, 0, 0, 0xFFFF}}; }
  // All that an explicit profile of `count` EVs needs to go OFFLINE.
  static EvCall explicit_offline(uint32_t count) {
    EvCall call;
    call.mode(MRC_CTL_EV_MODE_EXP).format(1).count(count).to(kOffline);
    return call;
  }
  // Explicit profile ONLINE with the EVs 1..count on port 1.
  int explicit_online(uint64_t id, uint16_t count, int event_mask = 0) {
    EvCall offline = explicit_offline(count);
    if (const int error = offline.fields(port_field()).on(&store, id)) return error;
    for (uint16_t i = 1; i <= count; ++i)
      if (const int error = EvCall().replace(MRC_CTL_EV_UNPOPULATED, ev_of(i)).on(&store, id)) return error;
    return EvCall().min(0).events(event_mask).to(kOnline).on(&store, id);
  }
  mrc_ctl_profile_state state(uint64_t id) {
    mrc_ctl_ev_profile_attr attr{};
    return store.query_ev(id, &attr, MRC_CTL_EV_PROFILE_STATE) == 0 ? attr.profile_state : mrc_ctl_profile_state(-1);
  }
  mrc_ctl_ev_state ev_state(uint64_t id, const mrc_ctl_ev& ev) {
    mrc_ctl_ev_op_entry entry{ev, {}, MRC_CTL_EV_UNKNOWN, 0};
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, &entry, 1};
    return store.query_ev(id, &attr, MRC_CTL_EV_PROFILE_EV_OP) == 0 ? entry.state : MRC_CTL_EV_UNKNOWN;
  }
  std::vector<mrc_ctl_ev_op_entry> array(uint64_t id) {
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, nullptr, 0};
    (void)store.query_ev(id, &attr, MRC_CTL_EV_PROFILE_EV_OP);  // refused, with the number of entries
    std::vector<mrc_ctl_ev_op_entry> entries(static_cast<size_t>(attr.ev_op.entry_count));
    attr.ev_op.entries = entries.data();
    return store.query_ev(id, &attr, MRC_CTL_EV_PROFILE_EV_OP) == 0 ? entries : std::vector<mrc_ctl_ev_op_entry>();
  }

  ProfileStore store;
};

inline bool same(const mrc_ctl_ev& a, const mrc_ctl_ev& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace mrc::ctl
