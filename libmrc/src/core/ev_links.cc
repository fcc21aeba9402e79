#include "core/ev_links.h"

#include <algorithm>
#include <tuple>

#include "invariant.h"

namespace mrc::core {

EvLinks::EvLinks(const PerEv<EvEntry>& evs) {
  for (const EvIndex ev : evs.ids())
    if (evs[ev].link != 0) evs_.push_back(ev);
  if (evs_.empty()) return;
  const auto key = [&](EvIndex ev) { return std::tuple(evs[ev].link, evs[ev].plane); };
  std::stable_sort(evs_.begin(), evs_.end(), [&](EvIndex a, EvIndex b) { return key(a) < key(b); });
  of_.assign(evs.size(), kNone);
  for (size_t i = 0; i < evs_.size(); ++i) {
    if (i == 0 || key(evs_[i]) != key(evs_[i - 1])) links_.push_back({static_cast<uint16_t>(i), 0, evs[evs_[i]].plane});
    ++links_.back().count;
    of_[evs_[i]] = static_cast<uint16_t>(links_.size() - 1);
  }
  check();
}

size_t EvLinks::count_on(PlaneId plane) const {
  return static_cast<size_t>(
      std::count_if(links_.begin(), links_.end(), [&](const Link& link) { return link.plane == plane; }));
}

// Every EV with a link is in the list of just that one.
void EvLinks::check() const {
  if constexpr (!kCheckInvariants) return;
  size_t listed = 0;
  for (size_t i = 0; i < links_.size(); ++i) {
    MRC_INVARIANT(links_[i].first == listed && links_[i].count > 0);
    for (const EvIndex ev : evs(LinkIndex(static_cast<uint16_t>(i)))) MRC_INVARIANT(of_[ev] == i);
    listed += links_[i].count;
  }
  MRC_INVARIANT(listed == evs_.size());
}

}  // namespace mrc::core
