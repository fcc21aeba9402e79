// EvLinks: which EVs of the table share the links of a path. An EV that names its T1 (EvEntry::link: by a field of a
// structured EV, or by its list of uSIDs) crosses the same links to a peer as the others with that T1 on its plane, so
// that they live and die together. Here a link stands for all of these: the way over one T1 of one plane. EVs that name
// none have no link. Computed once per endpoint. [MRC-EVS-13]
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"
#include "base/strong_id.h"
#include "core/config.h"

namespace mrc::core {

// From 0; T1 by T1, and of each T1 number plane by plane, so that neighbours lie on different planes.
using LinkIndex = StrongId<struct LinkIndexTag, uint16_t>;

class EvLinks {
 public:
  explicit EvLinks(const PerEv<EvEntry>& evs);

  size_t count() const { return links_.size(); }
  std::optional<LinkIndex> of(EvIndex ev) const {
    if (!of_.has(ev) || of_[ev] == kNone) return std::nullopt;
    return LinkIndex(of_[ev]);
  }
  // Ascending.
  absl::Span<const EvIndex> evs(LinkIndex link) const {
    return absl::MakeConstSpan(evs_).subspan(links_[link.value()].first, links_[link.value()].count);
  }
  PlaneId plane(LinkIndex link) const { return links_[link.value()].plane; }
  // The number of links on a plane.
  size_t count_on(PlaneId plane) const;
  void check() const;

 private:
  static constexpr uint16_t kNone = UINT16_MAX;
  struct Link {
    uint16_t first, count;  // in evs_
    PlaneId plane;
  };
  PerEv<uint16_t> of_;  // empty where no EV names a link
  std::vector<EvIndex> evs_;
  std::vector<Link> links_;
};

}  // namespace mrc::core
