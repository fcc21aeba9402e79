#include "core/ev_names.h"

#include <algorithm>

#include "invariant.h"

namespace mrc::core {

namespace {

uint32_t name_of(uint32_t ev) {
  return ev >> 16 != 0 ? ev >> 16 : ev;
}

}  // namespace

EvNames::EvNames(const PerEv<EvEntry>& evs) {
  for (const EvIndex ev : evs.ids()) evs_.push_back(ev);
  std::stable_sort(evs_.begin(), evs_.end(),
                   [&](EvIndex a, EvIndex b) { return name_of(evs[a].value) < name_of(evs[b].value); });
  for (const EvIndex ev : evs_) names_.push_back({name_of(evs[ev].value), evs[ev].value});
  check();
}

absl::Span<const EvIndex> EvNames::indices_of(uint32_t value) const {
  const uint32_t name = name_of(value);
  const auto first = std::lower_bound(names_.begin(), names_.end(), name,
                                      [](const Named& n, uint32_t wanted) { return n.name < wanted; });
  const auto last = std::find_if(first, names_.end(), [name](const Named& n) { return n.name != name; });
  return absl::MakeConstSpan(evs_).subspan(static_cast<size_t>(first - names_.begin()),
                                           static_cast<size_t>(last - first));
}

std::optional<EvIndex> EvNames::find(uint32_t value) const {
  for (const EvIndex& ev : indices_of(value))
    if (names_[static_cast<size_t>(&ev - evs_.data())].value == value) return ev;
  return std::nullopt;
}

// Ordered by name, and within a name by index: what a binary search and "in ascending order" need.
void EvNames::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(evs_.size() == names_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    MRC_INVARIANT(names_[i].name == name_of(names_[i].value));
    MRC_INVARIANT(i == 0 || names_[i - 1].name < names_[i].name ||
                  (names_[i - 1].name == names_[i].name && evs_[i - 1] < evs_[i]));
  }
}

}  // namespace mrc::core
