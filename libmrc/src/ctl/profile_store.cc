#include "ctl/profile_store.h"

#include <algorithm>
#include <cerrno>
#include <type_traits>

namespace mrc::ctl {

namespace {

template <typename Table>
std::vector<uint64_t> ids_of(const Table& table) {
  std::vector<uint64_t> ids;
  for (const auto& [id, held] : table) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

template <typename Table>
auto find(const Table& table, uint64_t id) -> decltype(&table.begin()->second->profile) {
  auto found = table.find(id);
  return found == table.end() ? nullptr : &found->second->profile;
}

template <typename Table>
int hold(Table* table, uint64_t id, bool* counted) {
  auto found = table->find(id);
  *counted = found != table->end() && found->second->profile.state() == MRC_CTL_PROFILE_ONLINE;
  if (!*counted) return id == 0 ? 0 : EINVAL;
  ++found->second->users;
  return 0;
}

template <typename Table>
void release(Table* table, uint64_t id) {
  auto found = table->find(id);
  if (found != table->end() && found->second->users > 0) --found->second->users;
}

template <typename Table>
std::vector<std::pair<uint64_t, uint32_t>> users_of(const Table& table) {
  std::vector<std::pair<uint64_t, uint32_t>> users;
  for (const auto& [id, held] : table)
    if (held->users != 0) users.emplace_back(id, held->users);
  std::sort(users.begin(), users.end());
  return users;
}

template <typename Table>
void set_users(Table* table, uint64_t id, uint32_t users) {
  auto found = table->find(id);
  if (found != table->end()) found->second->users = users;
}

template <typename Table>
void replace(Table* table, Table* by) {
  const auto users = users_of(*table);
  table->swap(*by);
  for (const auto& [id, held] : *table) held->users = 0;
  for (const auto& [id, count] : users) set_users(table, id, count);
}

template <typename Table>
void copy(const Table& from, Table* to) {
  for (const auto& [id, held] : from) to->emplace(id, std::make_unique<std::remove_cvref_t<decltype(*held)>>(*held));
}

}  // namespace

ProfileStore::ProfileStore(const Limits& limits, std::vector<mrc_ctl_ev> device_evs)
    : limits_(limits), device_evs_(std::move(device_evs)) {}

uint32_t ProfileStore::free_evs() const {
  uint32_t taken = 0;
  for (const auto& [id, held] : evs_) taken += held->profile.count();
  return limits_.evs - taken;
}

FormatUse ProfileStore::format_use(uint64_t id) const {
  FormatUse use = FormatUse::kNone;
  for (const auto& [ev_id, held] : evs_) {
    const EvProfile& profile = held->profile;
    if (!profile.has_format() || profile.format_id() != id) continue;
    if (profile.state() == MRC_CTL_PROFILE_ONLINE) return FormatUse::kOnline;
    use = FormatUse::kNamed;
  }
  return use;
}

// A profile in INIT is not stored: created for the call, and discarded when it is (or is again) in INIT afterwards.
// [MRC-CTL-2]
template <typename Profile, typename Change>
int ProfileStore::change(Table<Profile>* table, uint64_t id, uint32_t max, const Change& apply) {
  auto found = table->find(id);
  if (found == table->end()) {
    auto made = std::make_unique<Held<Profile>>();
    const int error = apply(made.get());
    if (made->profile.state() == MRC_CTL_PROFILE_INIT) return error;
    if (table->size() >= max) return E2BIG;
    table->emplace(id, std::move(made));
    return error;
  }
  const int error = apply(found->second.get());
  if (found->second->profile.state() == MRC_CTL_PROFILE_INIT) table->erase(found);
  return error;
}

int ProfileStore::modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask) {
  const Checked checked(this);
  return change<FormatProfile>(&formats_, id, limits_.format_profiles, [&](Held<FormatProfile>* held) {
    return held->profile.modify(attr, mask, limits_, following_ ? FormatUse::kNone : format_use(id));
  });
}

int ProfileStore::query_format(uint64_t id, mrc_ctl_ev_fmt_profile_attr* attr, int mask) const {
  const FormatProfile* found = format(id);
  return found != nullptr ? found->query(attr, mask) : FormatProfile().query(attr, mask);
}

int ProfileStore::modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask) {
  const Checked checked(this);
  ++generation_;
  return change<EvProfile>(&evs_, id, limits_.ev_profiles, [&](Held<EvProfile>* held) {
    const EvSurroundings around{limits_, device_evs_, free_evs() + held->profile.count(), following_ ? 0 : held->users,
                                [this](uint64_t format_id) { return format(format_id); }};
    return held->profile.modify(attr, mask, around);
  });
}

int ProfileStore::query_ev(uint64_t id, mrc_ctl_ev_profile_attr* attr, int mask) const {
  const EvProfile* found = ev(id);
  return found != nullptr ? found->query(attr, mask, limits_) : EvProfile().query(attr, mask, limits_);
}

void ProfileStore::feed_state(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
  auto found = evs_.find(id);
  if (found != evs_.end() && found->second->profile.feed_state(ev, state)) ++generation_;
}

int ProfileStore::modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask) {
  const Checked checked(this);
  return change<CcProfile>(&ccs_, id, limits_.cc_profiles, [&](Held<CcProfile>* held) {
    return held->profile.modify(attr, mask, limits_, following_ ? 0 : held->users);
  });
}

int ProfileStore::query_cc(uint64_t id, mrc_ctl_cc_profile_attr* attr, int mask) const {
  const CcProfile* found = cc(id);
  return found != nullptr ? found->query(attr, mask) : CcProfile().query(attr, mask);
}

int ProfileStore::hold_ev(uint64_t id, bool* counted) {
  return hold(&evs_, id, counted);
}
void ProfileStore::release_ev(uint64_t id) {
  release(&evs_, id);
}
int ProfileStore::hold_cc(uint64_t id, bool* counted) {
  return hold(&ccs_, id, counted);
}
void ProfileStore::release_cc(uint64_t id) {
  release(&ccs_, id);
}

ProfileStore ProfileStore::copy() const {
  ProfileStore made(limits_, device_evs_);
  ctl::copy(formats_, &made.formats_);
  ctl::copy(evs_, &made.evs_);
  ctl::copy(ccs_, &made.ccs_);
  made.generation_ = generation_;
  made.following_ = following_;
  return made;
}

void ProfileStore::replace(ProfileStore&& other) {
  ctl::replace(&formats_, &other.formats_);
  ctl::replace(&evs_, &other.evs_);
  ctl::replace(&ccs_, &other.ccs_);
  ++generation_;
  check();
}

std::vector<std::pair<uint64_t, uint32_t>> ProfileStore::ev_users() const {
  return users_of(evs_);
}
std::vector<std::pair<uint64_t, uint32_t>> ProfileStore::cc_users() const {
  return users_of(ccs_);
}
void ProfileStore::set_ev_users(uint64_t id, uint32_t users) {
  set_users(&evs_, id, users);
}
void ProfileStore::set_cc_users(uint64_t id, uint32_t users) {
  set_users(&ccs_, id, users);
}

std::optional<EvChange> ProfileStore::feed(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
  auto found = evs_.find(id);
  if (found == evs_.end()) return std::nullopt;
  EvProfile& profile = found->second->profile;
  if (profile.state() != MRC_CTL_PROFILE_ONLINE || !profile.feed_state(ev, state)) return std::nullopt;
  ++generation_;
  return EvChange{id, ev, state, (profile.event_mask() & state) != 0};
}

const EvProfile* ProfileStore::ev(uint64_t id) const {
  return find(evs_, id);
}
const CcProfile* ProfileStore::cc(uint64_t id) const {
  return find(ccs_, id);
}
const FormatProfile* ProfileStore::format(uint64_t id) const {
  return find(formats_, id);
}
std::vector<uint64_t> ProfileStore::format_ids() const {
  return ids_of(formats_);
}
std::vector<uint64_t> ProfileStore::ev_ids() const {
  return ids_of(evs_);
}
std::vector<uint64_t> ProfileStore::cc_ids() const {
  return ids_of(ccs_);
}

// In a copy of another process's store the state of a format is that process's matter [follow()].
void ProfileStore::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(formats_.size() <= limits_.format_profiles && evs_.size() <= limits_.ev_profiles);
  MRC_INVARIANT(ccs_.size() <= limits_.cc_profiles);
  if (!pace_.due(formats_.size() + evs_.size() + ccs_.size())) return;
  for (const auto& [id, held] : formats_) MRC_INVARIANT(held->profile.state() != MRC_CTL_PROFILE_INIT);
  for (const auto& [id, held] : ccs_) MRC_INVARIANT(held->profile.state() != MRC_CTL_PROFILE_INIT);
  uint64_t evs = 0;
  for (const auto& [id, held] : evs_) {
    const EvProfile& profile = held->profile;
    MRC_INVARIANT(profile.state() != MRC_CTL_PROFILE_INIT && profile.table().size() == profile.count());
    evs += profile.count();
    if (following_ || !profile.has_format()) continue;
    const FormatProfile* const used = format(profile.format_id());
    MRC_INVARIANT(used != nullptr);
    MRC_INVARIANT(profile.state() != MRC_CTL_PROFILE_ONLINE || used->state() == MRC_CTL_PROFILE_ONLINE);
  }
  MRC_INVARIANT(evs <= limits_.evs);
}

}  // namespace mrc::ctl
