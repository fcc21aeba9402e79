// EvTable: the entries of one EV profile with their states. Several entries may have the same EV. An index by EV
// makes every operation on one entry constant in the size of the table: controllers fill a table of thousands one call
// at a time. A call that throws std::bad_alloc has changed nothing.
#pragma once

#include <absl/hash/hash.h>

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ctl/vocabulary.h"
#include "invariant.h"

namespace mrc::ctl {

class EvTable {
 public:
  struct Entry {
    mrc_ctl_ev ev{};
    mrc_ctl_ev_state state = MRC_CTL_EV_UNKNOWN;
  };

  void clear() { assign({}); }
  void assign_unpopulated(uint32_t count);
  void assign(const std::vector<mrc_ctl_ev>& evs);  // all GOOD

  const std::vector<Entry>& entries() const { return entries_; }
  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  uint32_t unpopulated() const;

  // One entry that holds `ev`, or all of them; ENOENT when there is none. An unpopulated `to` keeps no state.
  [[nodiscard]] int replace(const mrc_ctl_ev& ev, const mrc_ctl_ev& to, mrc_ctl_ev_state state, bool all);
  [[nodiscard]] int set_state(const mrc_ctl_ev& ev, mrc_ctl_ev_state state, bool all);
  [[nodiscard]] int state_of(const mrc_ctl_ev& ev, mrc_ctl_ev_state* state) const;
  // Entries of this EV that are not DENIED get the state; true when one had another.
  bool feed_state(const mrc_ctl_ev& ev, mrc_ctl_ev_state state);
  void check() const;

 private:
  using Key = std::array<uint8_t, sizeof(mrc_ctl_ev)>;
  // The last one is taken first. None is the same as an absent key.
  using Places = std::unordered_map<Key, std::vector<uint32_t>, absl::Hash<Key>>;
  static Key key_of(const mrc_ctl_ev& ev);
  void set(std::vector<Entry> entries);
  const std::vector<uint32_t>* places_of(const mrc_ctl_ev& ev) const;

  std::vector<Entry> entries_;
  Places places_;
  mutable InvariantPace pace_;
};

bool is_unpopulated(const mrc_ctl_ev& ev);

}  // namespace mrc::ctl
