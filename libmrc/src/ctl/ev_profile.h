// EV profile: the EVs that a QP may use, their origin (AUTO: the device; EXPLICIT: the controller; GENERATED:
// from the fields), and their states. One per id that has left INIT. [MRC-CTL-1] [MRC-PROF-*]
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "ctl/ev_expand.h"
#include "ctl/ev_table.h"
#include "ctl/format_profile.h"
#include "ctl/limits.h"

namespace mrc::ctl {

// The context of an EV profile during one call.
struct EvSurroundings {
  const Limits& limits;
  const std::vector<mrc_ctl_ev>& device_evs;  // what AUTO chooses from
  uint32_t free_evs;                          // not taken by other profiles
  uint32_t users;                             // QPs with this profile
  // The format profile with this id; null: none. The caller keeps it alive.
  std::function<const FormatProfile*(uint64_t id)> format;
};

class EvProfile {
 public:
  mrc_ctl_profile_state state() const { return s_.state; }
  bool has_format() const { return (s_.given & MRC_CTL_EV_PROFILE_FMT_ID) != 0; }  // an automatic one may have none
  uint64_t format_id() const { return s_.format_id; }
  uint32_t count() const { return s_.count; }
  uint32_t min_active() const { return s_.min_active; }
  int event_mask() const { return s_.event_mask; }
  int mode() const { return s_.mode; }
  int given() const { return s_.given; }  // attribute bits that were ever set
  EvFields fields() const { return s_.fields; }
  const EvTable& table() const { return table_; }

  // 0, or an errno value. After an error only the entries of a batch before the failed one are changed [MRC-PROF-5].
  [[nodiscard]] int modify(const mrc_ctl_ev_profile_attr& attr, int mask, const EvSurroundings& around);
  [[nodiscard]] int query(mrc_ctl_ev_profile_attr* attr, int mask, const Limits& limits) const;
  // The observed state of a path; true when an entry changed.
  bool feed_state(const mrc_ctl_ev& ev, mrc_ctl_ev_state state) { return table_.feed_state(ev, state); }

 private:
  struct Settings {
    mrc_ctl_profile_state state = MRC_CTL_PROFILE_INIT;
    int mode = 0;
    uint64_t format_id = 0;
    uint32_t count = 0;
    uint32_t min_active = 0;
    int event_mask = 0;
    int given = 0;  // attribute bits that were ever set
    std::vector<mrc_ctl_ev_field> fields;
    std::array<uint8_t, MRC_CTL_MAX_VENDOR_CFG_SIZE> vendor{};
  };

  [[nodiscard]] int take(const mrc_ctl_ev_profile_attr& attr, int mask, const EvSurroundings& around,
                         Settings* s) const;
  [[nodiscard]] int take_fields(const mrc_ctl_ev_profile_attr& attr, Settings* s) const;
  [[nodiscard]] int check(const Settings& s, mrc_ctl_profile_state to, const EvSurroundings& around) const;
  void fill_table(const Settings& s, const EvSurroundings& around);
  [[nodiscard]] int run_op(const mrc_ctl_ev_profile_attr& attr, const Settings& s, const EvSurroundings& around);

  Settings s_;
  EvTable table_;
};

}  // namespace mrc::ctl
