// A store as the calls that create it again: each profile step by step through its states, long tables in pieces, so
// that no process that applies the calls holds a lock for long.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "ctl/call.h"
#include "ctl/profile_store.h"

namespace mrc::ctl {

namespace {

using Json = nlohmann::json;

constexpr size_t kPiece = 1024;  // entries in one call

// The results of queries are not looked at below: by a mask of attributes that the profile has they cannot fail.
void add_format(const ProfileStore& store, uint64_t id, std::vector<Json>* out) {
  const FormatProfile& profile = *store.format(id);
  mrc_ctl_ev_fmt_profile_attr attr{};
  std::vector<mrc_ctl_ev_fmt_field> fields(profile.fields().begin(), profile.fields().end());
  (void)profile.query(&attr, MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_VENDOR_CFG);
  int mask = MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_VENDOR_CFG;
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  if (!fields.empty()) {
    attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields.data(), static_cast<int>(fields.size())};
    mask |= MRC_CTL_EV_FMT_PROFILE_OP;
  }
  out->push_back(call_json(id, attr, mask));
  if (profile.state() != MRC_CTL_PROFILE_ONLINE) return;
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  out->push_back(call_json(id, attr, MRC_CTL_EV_FMT_PROFILE_STATE));
}

void add_entries(uint64_t id, mrc_ctl_ev_op op, std::vector<mrc_ctl_ev_op_entry> entries, std::vector<Json>* out) {
  for (size_t at = 0; at < entries.size(); at += kPiece) {
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {op, entries.data() + at, static_cast<int>(std::min(kPiece, entries.size() - at))};
    out->push_back(call_json(id, attr, MRC_CTL_EV_PROFILE_EV_OP));
  }
}

void add_ev(const ProfileStore& store, uint64_t id, bool paths, std::vector<Json>* out) {
  const EvProfile& profile = *store.ev(id);
  constexpr int kPlain = MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
                         MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_VENDOR_CFG;
  mrc_ctl_ev_profile_attr attr{};
  int mask = profile.given() & kPlain;
  (void)profile.query(&attr, mask, store.limits());
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  std::vector<mrc_ctl_ev_field> fields(profile.fields().begin(), profile.fields().end());
  if (!fields.empty()) {
    attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields.data(), static_cast<int>(fields.size())};
    mask |= MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
  }
  out->push_back(call_json(id, attr, mask | MRC_CTL_EV_PROFILE_STATE));

  const bool explicit_evs = profile.mode() == MRC_CTL_EV_MODE_EXP;
  std::vector<mrc_ctl_ev_op_entry> entries;
  for (const EvTable::Entry& entry : profile.table().entries()) {
    const bool shown = entry.state == MRC_CTL_EV_ASSUMED_BAD && !paths;
    const mrc_ctl_ev_state state = shown ? MRC_CTL_EV_GOOD : entry.state;
    if (explicit_evs && !is_unpopulated(entry.ev)) entries.push_back({{}, entry.ev, state, 0});
    if (!explicit_evs && state != MRC_CTL_EV_GOOD) entries.push_back({entry.ev, {}, state, 0});
  }
  add_entries(id, explicit_evs ? MRC_CTL_EV_OP_REPLACE_EV : MRC_CTL_EV_OP_MODIFY_EV_STATE, std::move(entries), out);
  if (profile.state() != MRC_CTL_PROFILE_ONLINE) return;
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  out->push_back(call_json(id, attr, MRC_CTL_EV_PROFILE_STATE));
}

void add_cc(const ProfileStore& store, uint64_t id, std::vector<Json>* out) {
  const CcProfile& profile = *store.cc(id);
  mrc_ctl_cc_profile_attr attr{};
  (void)profile.query(&attr, MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG | MRC_CTL_CC_PROFILE_VENDOR_CFG);
  int mask = MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_VENDOR_CFG;
  if (attr.cc_config != nullptr) mask |= MRC_CTL_CC_PROFILE_CONFIG;
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  out->push_back(call_json(id, attr, mask));
  if (profile.state() != MRC_CTL_PROFILE_ONLINE) return;
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  out->push_back(call_json(id, attr, MRC_CTL_CC_PROFILE_STATE));
}

}  // namespace

std::vector<Json> calls_of(const ProfileStore& store, bool paths) {
  std::vector<Json> calls;
  for (uint64_t id : store.format_ids()) add_format(store, id, &calls);
  for (uint64_t id : store.ev_ids()) add_ev(store, id, paths, &calls);
  for (uint64_t id : store.cc_ids()) add_cc(store, id, &calls);
  return calls;
}

}  // namespace mrc::ctl
