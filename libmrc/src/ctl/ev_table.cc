#include "ctl/ev_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mrc::ctl {

static_assert(sizeof(mrc_ctl_ev) == MRC_CTL_EV_MAX_BYTES + 1, "no padding: the bytes are the key");

bool is_unpopulated(const mrc_ctl_ev& ev) {
  static constexpr mrc_ctl_ev kNone{};
  return std::memcmp(&ev, &kNone, sizeof ev) == 0;
}

EvTable::Key EvTable::key_of(const mrc_ctl_ev& ev) {
  Key key;
  std::memcpy(key.data(), &ev, key.size());
  return key;
}

// From the back, so that equal entries are taken in their order.
void EvTable::index() {
  places_.clear();
  for (uint32_t i = size(); i-- > 0;) places_[key_of(entries_[i].ev)].push_back(i);
}

void EvTable::assign_unpopulated(uint32_t count) {
  entries_.assign(count, Entry());
  index();
}

void EvTable::assign(const std::vector<mrc_ctl_ev>& evs) {
  entries_.clear();
  for (const mrc_ctl_ev& ev : evs) entries_.push_back({ev, MRC_CTL_EV_GOOD});
  index();
}

uint32_t EvTable::unpopulated() const {
  auto found = places_.find(Key{});
  return found == places_.end() ? 0 : static_cast<uint32_t>(found->second.size());
}

int EvTable::replace(const mrc_ctl_ev& ev, const mrc_ctl_ev& to, mrc_ctl_ev_state state, bool all) {
  auto found = places_.find(key_of(ev));
  if (found == places_.end()) return ENOENT;
  const mrc_ctl_ev_state kept = is_unpopulated(to) ? MRC_CTL_EV_UNKNOWN : state;
  std::vector<uint32_t> moved;
  if (all) {
    moved = std::move(found->second);
    places_.erase(found);
  } else {
    moved.push_back(found->second.back());
    found->second.pop_back();
    if (found->second.empty()) places_.erase(found);
  }
  std::vector<uint32_t>& places = places_[key_of(to)];
  for (uint32_t place : moved) {
    entries_[place] = {to, kept};
    places.push_back(place);
  }
  return 0;
}

int EvTable::set_state(const mrc_ctl_ev& ev, mrc_ctl_ev_state state, bool all) {
  auto found = places_.find(key_of(ev));
  if (found == places_.end()) return ENOENT;
  if (!all) {
    // A copy that is not yet in that state: two requests change two copies.
    auto other = std::find_if(found->second.rbegin(), found->second.rend(),
                              [&](uint32_t place) { return entries_[place].state != state; });
    if (other != found->second.rend()) entries_[*other].state = state;
    return 0;
  }
  for (uint32_t place : found->second) entries_[place].state = state;
  return 0;
}

int EvTable::state_of(const mrc_ctl_ev& ev, mrc_ctl_ev_state* state) const {
  auto found = places_.find(key_of(ev));
  if (found == places_.end()) return ENOENT;
  *state = entries_[found->second.back()].state;
  return 0;
}

bool EvTable::feed_state(const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
  auto found = places_.find(key_of(ev));
  if (found == places_.end()) return false;
  bool changed = false;
  for (uint32_t place : found->second) {
    Entry& entry = entries_[place];
    if (entry.state == MRC_CTL_EV_DENIED || entry.state == state) continue;
    entry.state = state;
    changed = true;
  }
  return changed;
}

}  // namespace mrc::ctl
