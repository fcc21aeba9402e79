#include "ctl/ev_profile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ctl/array_out.h"
#include "ctl/transition.h"

namespace mrc::ctl {

namespace {

constexpr int kEvStateBits = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE;
constexpr int kOps = MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
constexpr int kShape =
    MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
constexpr int kLimitsBits = MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK;
constexpr int kEvKnown = kEvStateBits | kOps | kShape | kLimitsBits | MRC_CTL_EV_PROFILE_VENDOR_CFG;
constexpr int kEventStates = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD;

bool settable_state(int state) {
  return state == MRC_CTL_EV_GOOD || state == MRC_CTL_EV_ASSUMED_BAD || state == MRC_CTL_EV_DENIED;
}

}  // namespace

// Attributes without operations. The structure can change in OFFLINE only; ONLINE the optional feature permits
// event mask, entries and fields, while state operations are always allowed. [MRC-PROF-2]
int EvProfile::take(const mrc_ctl_ev_profile_attr& attr, int mask, const EvSurroundings& around, Settings* s) const {
  const Limits& limits = around.limits;
  if (mask & MRC_CTL_EV_PROFILE_MODE) {
    const int mode = number_of(attr.ev_mode);
    if (mode != MRC_CTL_EV_MODE_AUTO && mode != MRC_CTL_EV_MODE_EXP && mode != MRC_CTL_EV_MODE_GEN) return EINVAL;
    if ((limits.ev_modes & static_cast<uint32_t>(mode)) == 0) return ENOTSUP;
    s->mode = mode;
  }
  if (mask & MRC_CTL_EV_PROFILE_FMT_ID) {
    if (around.format(attr.ev_fmt_profile_id) == nullptr) return EINVAL;
    s->format_id = attr.ev_fmt_profile_id;
  }
  if (mask & MRC_CTL_EV_PROFILE_COUNT) {
    if (attr.ev_count == 0 || attr.ev_count % limits.ev_count_align != 0) return EINVAL;
    if (attr.ev_count > limits.evs_per_profile || attr.ev_count > around.free_evs) return E2BIG;
    s->count = attr.ev_count;
  }
  if (mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) s->min_active = attr.ev_min_active;
  if (mask & MRC_CTL_EV_PROFILE_EVENT_MASK) {
    if ((attr.ev_event_mask & ~kEventStates) != 0) return EINVAL;
    if (attr.ev_event_mask != 0 && (limits.options & MRC_CTL_OPT_CAP_EV_EVENT) == 0) return ENOTSUP;
    s->event_mask = attr.ev_event_mask;
  }
  if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
    if (const int error = take_fields(attr, s)) return error;
  if (mask & MRC_CTL_EV_PROFILE_VENDOR_CFG) std::memcpy(s->vendor.data(), attr.vendor_cfg, s->vendor.size());
  s->given |= mask;
  return 0;
}

int EvProfile::take_fields(const mrc_ctl_ev_profile_attr& attr, Settings* s) const {
  const auto& op = attr.ev_fields_op;
  if (number_of(op.op) != MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS || op.fields == nullptr || op.field_count < 1)
    return EINVAL;
  if (static_cast<uint32_t>(op.field_count) > kEvBits) return E2BIG;
  std::vector<mrc_ctl_ev_field> fields(op.fields, op.fields + op.field_count);
  if (const int error = check_fields(fields)) return error;
  // The entries of an ONLINE profile are kept, so they must stay valid.
  if (s_.state == MRC_CTL_PROFILE_ONLINE && consumed_bits(fields) != consumed_bits(s_.fields)) return EINVAL;
  s->fields = std::move(fields);
  return 0;
}

// The requirements of the state, for the resulting settings. [MRC-PROF-1] [MRC-PROF-3]
int EvProfile::check(const Settings& s, mrc_ctl_profile_state to, const EvSurroundings& around) const {
  const bool automatic = s.mode == MRC_CTL_EV_MODE_AUTO;
  if (s.mode == 0) return EINVAL;
  if (!automatic && (s.count == 0 || s.fields.empty() || (s.given & MRC_CTL_EV_PROFILE_FMT_ID) == 0)) return EINVAL;
  if (automatic && s.count > around.device_evs.size()) return E2BIG;
  if (s.count != 0 && s.min_active > s.count) return EINVAL;
  if (s.mode == MRC_CTL_EV_MODE_GEN && s.count > combinations(s.fields)) return E2BIG;
  if (to != MRC_CTL_PROFILE_ONLINE) return 0;
  if ((s.given & kLimitsBits) != kLimitsBits) return EINVAL;
  if ((s.given & MRC_CTL_EV_PROFILE_FMT_ID) == 0) return 0;
  const FormatProfile* format = around.format(s.format_id);
  if (format == nullptr || format->state() != MRC_CTL_PROFILE_ONLINE) return EINVAL;
  return s.fields.empty() ? 0 : check_fit(s.fields, format->fields());
}

// [MRC-PROF-8]
void EvProfile::fill_table(const Settings& s, const EvSurroundings& around) {
  switch (s.mode) {
    case MRC_CTL_EV_MODE_EXP:
      table_.assign_unpopulated(s.count);
      break;
    case MRC_CTL_EV_MODE_GEN:
      table_.assign(generate(s.fields, s.count, static_cast<uint8_t>(around.limits.ports)));
      break;
    default:
      table_.assign({around.device_evs.begin(),
                     around.device_evs.begin() + std::min<ptrdiff_t>(s.count, std::ssize(around.device_evs))});
  }
}

// [MRC-PROF-5] [MRC-PROF-6]
int EvProfile::run_op(const mrc_ctl_ev_profile_attr& attr, const Settings& s, const EvSurroundings& around) {
  const auto& op = attr.ev_op;
  const bool replaces = number_of(op.op) == MRC_CTL_EV_OP_REPLACE_EV;
  for (int i = 0; i < op.entry_count; ++i) {
    const mrc_ctl_ev_op_entry& entry = op.entries[i];
    const int state = number_of(entry.state);
    if ((entry.flags & ~uint32_t{MRC_CTL_EV_OP_F_ALL_COPIES}) != 0) return EINVAL;
    const bool all = (entry.flags & MRC_CTL_EV_OP_F_ALL_COPIES) != 0;
    const bool emptied = replaces && is_unpopulated(entry.ev_new);
    if (emptied && s.state == MRC_CTL_PROFILE_ONLINE) return EINVAL;
    if (!emptied && !settable_state(state)) return EINVAL;
    if (!replaces) {
      if (is_unpopulated(entry.ev)) return EINVAL;
      if (const int error = table_.set_state(entry.ev, static_cast<mrc_ctl_ev_state>(state), all)) return error;
      continue;
    }
    if (!emptied && (entry.ev_new.port < 1 || entry.ev_new.port > around.limits.ports)) return EINVAL;
    if (!unused_bits_zero(entry.ev_new.val, s.fields)) return EINVAL;
    if (const int error = table_.replace(entry.ev, entry.ev_new, static_cast<mrc_ctl_ev_state>(state), all))
      return error;
  }
  return 0;
}

int EvProfile::modify(const mrc_ctl_ev_profile_attr& attr, int mask, const EvSurroundings& around) {
  if ((mask & ~kEvKnown) != 0 || (mask & kOps) == kOps) return EINVAL;
  mrc_ctl_profile_state to;
  if (const int error = target_state(attr, (mask & MRC_CTL_EV_PROFILE_STATE) != 0,
                                     (mask & MRC_CTL_EV_PROFILE_CUR_STATE) != 0, s_.state, &to))
    return error;
  const bool changes = (mask & ~kEvStateBits) != 0;
  const bool online = s_.state == MRC_CTL_PROFILE_ONLINE;
  if (online && to != MRC_CTL_PROFILE_ONLINE && around.users != 0) return EBUSY;  // [MRC-PROF-4]
  if (to == MRC_CTL_PROFILE_INIT) {
    if (changes) return EINVAL;
    s_ = Settings();
    table_.clear();
    return 0;
  }
  const bool operates = (mask & MRC_CTL_EV_PROFILE_EV_OP) != 0;
  if (operates) {
    const int op = number_of(attr.ev_op.op);
    if (op != MRC_CTL_EV_OP_REPLACE_EV && op != MRC_CTL_EV_OP_MODIFY_EV_STATE) return EINVAL;
    if (attr.ev_op.entry_count < 0 || (attr.ev_op.entries == nullptr && attr.ev_op.entry_count > 0)) return EINVAL;
    const uint32_t max = around.limits.ev_op_entries;
    if (max != 0 && static_cast<uint32_t>(attr.ev_op.entry_count) > max) return E2BIG;
  }
  const bool replaces = operates && number_of(attr.ev_op.op) == MRC_CTL_EV_OP_REPLACE_EV;
  if (online) {
    constexpr int kOptional = MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
    if ((mask & ~(kEvStateBits | kOptional | MRC_CTL_EV_PROFILE_EV_OP)) != 0) return EINVAL;
    if (((mask & kOptional) != 0 || replaces) &&
        (around.limits.options & MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE) == 0)
      return ENOTSUP;
  }

  Settings made = s_;
  if (const int error = take(attr, mask, around, &made)) return error;
  if (made.mode == MRC_CTL_EV_MODE_AUTO && made.count == 0)
    made.count = static_cast<uint32_t>(std::min<size_t>(around.device_evs.size(), around.free_evs));
  if (replaces && made.mode != MRC_CTL_EV_MODE_EXP) return EINVAL;
  if (const int error = check(made, to, around)) return error;
  const bool reshaped = made.mode != s_.mode || made.count != s_.count ||
                        ((mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) != 0 &&
                         (made.mode == MRC_CTL_EV_MODE_GEN || consumed_bits(made.fields) != consumed_bits(s_.fields)));
  const bool explicit_online = made.mode == MRC_CTL_EV_MODE_EXP && to == MRC_CTL_PROFILE_ONLINE;
  if (explicit_online && !operates && (reshaped || table_.unpopulated() != 0)) return EINVAL;  // [MRC-PROF-3]

  const mrc_ctl_profile_state from = s_.state;
  made.state = from == MRC_CTL_PROFILE_INIT ? MRC_CTL_PROFILE_OFFLINE : from;
  Settings kept = made;  // no memory runs out between the table and the settings that it belongs to
  if (reshaped) fill_table(made, around);
  s_ = std::move(kept);
  if (operates)
    if (const int error = run_op(attr, made, around)) {
      if (from == MRC_CTL_PROFILE_INIT) {  // nothing is kept in INIT, so nothing of the batch either
        s_ = Settings();
        table_.clear();
      }
      return error;
    }
  if (explicit_online && table_.unpopulated() != 0) return EINVAL;
  s_.state = to;
  return 0;
}

int EvProfile::query(mrc_ctl_ev_profile_attr* attr, int mask, const Limits& limits) const {
  if ((mask & ~kEvKnown) != 0 || (mask & kOps) == kOps) return EINVAL;
  if (s_.state == MRC_CTL_PROFILE_INIT && (mask & ~kEvStateBits) != 0) return EINVAL;
  if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) {
    auto& op = attr->ev_fields_op;
    if (number_of(op.op) != MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS) return EINVAL;
    if (const int error = array_out(s_.fields, op.fields, &op.field_count)) return error;
  }
  if (mask & MRC_CTL_EV_PROFILE_EV_OP) {
    auto& op = attr->ev_op;
    switch (number_of(op.op)) {
      case MRC_CTL_EV_OP_QUERY_EV_STATE:
        if (op.entry_count < 0 || (op.entries == nullptr && op.entry_count > 0)) return EINVAL;
        if (limits.ev_op_entries != 0 && static_cast<uint32_t>(op.entry_count) > limits.ev_op_entries) return E2BIG;
        for (int i = 0; i < op.entry_count; ++i)
          if (const int error = table_.state_of(op.entries[i].ev, &op.entries[i].state)) return error;
        break;
      case MRC_CTL_EV_OP_QUERY_EV_ARRAY: {
        std::vector<mrc_ctl_ev_op_entry> all;
        for (const EvTable::Entry& entry : table_.entries()) all.push_back({entry.ev, {}, entry.state, 0});
        if (const int error = array_out(all, op.entries, &op.entry_count)) return error;
        break;
      }
      default:
        return EINVAL;
    }
  }
  if (mask & MRC_CTL_EV_PROFILE_STATE) attr->profile_state = s_.state;
  if (mask & MRC_CTL_EV_PROFILE_CUR_STATE) attr->cur_profile_state = s_.state;
  if (mask & MRC_CTL_EV_PROFILE_MODE) attr->ev_mode = static_cast<mrc_ctl_ev_mode>(s_.mode);
  if (mask & MRC_CTL_EV_PROFILE_FMT_ID) attr->ev_fmt_profile_id = s_.format_id;
  if (mask & MRC_CTL_EV_PROFILE_COUNT) attr->ev_count = s_.count;
  if (mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) attr->ev_min_active = s_.min_active;
  if (mask & MRC_CTL_EV_PROFILE_EVENT_MASK) attr->ev_event_mask = s_.event_mask;
  if (mask & MRC_CTL_EV_PROFILE_VENDOR_CFG) std::memcpy(attr->vendor_cfg, s_.vendor.data(), s_.vendor.size());
  return 0;
}

}  // namespace mrc::ctl
