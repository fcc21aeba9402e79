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

// Indexed from the back, so that equal entries are taken in their order.
void EvTable::set(std::vector<Entry> entries) {
  Places places;
  for (auto i = static_cast<uint32_t>(entries.size()); i-- > 0;) places[key_of(entries[i].ev)].push_back(i);
  entries_ = std::move(entries);
  places_ = std::move(places);
  check();
}

void EvTable::assign_unpopulated(uint32_t count) {
  set(std::vector<Entry>(count));
}

void EvTable::assign(const std::vector<mrc_ctl_ev>& evs) {
  std::vector<Entry> entries;
  entries.reserve(evs.size());
  for (const mrc_ctl_ev& ev : evs) entries.push_back({ev, MRC_CTL_EV_GOOD});
  set(std::move(entries));
}

// Null: no entry holds it.
const std::vector<uint32_t>* EvTable::places_of(const mrc_ctl_ev& ev) const {
  const auto found = places_.find(key_of(ev));
  return found == places_.end() || found->second.empty() ? nullptr : &found->second;
}

uint32_t EvTable::unpopulated() const {
  const std::vector<uint32_t>* const places = places_of(mrc_ctl_ev{});
  return places == nullptr ? 0 : static_cast<uint32_t>(places->size());
}

int EvTable::replace(const mrc_ctl_ev& ev, const mrc_ctl_ev& to, mrc_ctl_ev_state state, bool all) {
  const Checked checked(this);
  if (places_of(ev) == nullptr) return ENOENT;
  const mrc_ctl_ev_state kept = is_unpopulated(to) ? MRC_CTL_EV_UNKNOWN : state;
  std::vector<uint32_t>& target = places_[key_of(to)];
  std::vector<uint32_t>& source = places_.at(key_of(ev));
  const auto count = static_cast<ptrdiff_t>(all ? source.size() : 1);
  if (&source != &target) {
    target.insert(target.end(), source.end() - count, source.end());
    source.resize(source.size() - static_cast<size_t>(count));
  }
  for (auto place = target.end() - count; place != target.end(); ++place) entries_[*place] = {to, kept};
  if (source.empty()) places_.erase(key_of(ev));
  return 0;
}

int EvTable::set_state(const mrc_ctl_ev& ev, mrc_ctl_ev_state state, bool all) {
  const std::vector<uint32_t>* const places = places_of(ev);
  if (places == nullptr) return ENOENT;
  if (!all) {
    // A copy that is not yet in that state: two requests change two copies.
    auto other =
        std::find_if(places->rbegin(), places->rend(), [&](uint32_t place) { return entries_[place].state != state; });
    if (other != places->rend()) entries_[*other].state = state;
    return 0;
  }
  for (uint32_t place : *places) entries_[place].state = state;
  return 0;
}

int EvTable::state_of(const mrc_ctl_ev& ev, mrc_ctl_ev_state* state) const {
  const std::vector<uint32_t>* const places = places_of(ev);
  if (places == nullptr) return ENOENT;
  *state = entries_[places->back()].state;
  return 0;
}

bool EvTable::feed_state(const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
  const std::vector<uint32_t>* const places = places_of(ev);
  if (places == nullptr) return false;
  bool changed = false;
  for (uint32_t place : *places) {
    Entry& entry = entries_[place];
    if (entry.state == MRC_CTL_EV_DENIED || entry.state == state) continue;
    entry.state = state;
    changed = true;
  }
  return changed;
}

// Every entry is indexed once, by its EV.
void EvTable::check() const {
  if constexpr (!kCheckInvariants) return;
  if (!pace_.due(entries_.size(), 4)) return;  // a table of thousands is filled one call at a time
  size_t indexed = 0;
  for (const auto& [ev, places] : places_) {
    for (const uint32_t place : places) MRC_INVARIANT(place < entries_.size() && key_of(entries_[place].ev) == ev);
    indexed += places.size();
  }
  MRC_INVARIANT(indexed == entries_.size());
}

}  // namespace mrc::ctl
