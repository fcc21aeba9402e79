// LinkSuspicion: what is known about the links towards one peer (EvLinks), from the packets of all EVs that cross them.
// Sans-IO; no allocation after construction.
//
// A link is proven when something was delivered over it. It is under test from its first packet or probe until the
// first delivery or loss. Evidence against it is a loss that no delivery over it refutes, that is, nothing sent on any
// of its EVs at or after that time has been delivered; losses of kLostEvs different EVs are enough to suspect it, and
// of a link that was never proven a single one, once its plane is known to work. The caller decides whether the link is
// suspected then, because enough paths have to be left. A delivery of what was sent after the last loss clears it.
// [MRC-EVS-13..14]
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"
#include "base/time.h"
#include "core/ev_links.h"

namespace mrc::core {

class LinkSuspicion {
 public:
  static constexpr uint32_t kLostEvs = 3;

  explicit LinkSuspicion(const EvLinks& links);

  // --- evidence, by EV. Those without a link are ignored ---
  // Data or a probe leaves.
  void on_sent(Instant now, EvIndex ev);
  // True: the link was suspected until now.
  bool on_delivered(EvIndex ev, Instant sent_at);
  // `plane_works`: something that was sent later on its plane has been delivered. True: there is enough evidence to
  // suspect the link.
  bool on_lost(EvIndex ev, Instant sent_at, bool plane_works);

  // --- verdict ---
  // Not the last link of its plane.
  bool may_suspect(EvIndex ev) const;
  void suspect(EvIndex ev);
  // Nothing is known against the link any more, and if it was never proven, nothing was sent on it. True: it was
  // suspected.
  bool clear(EvIndex ev);
  bool suspected(EvIndex ev) const {
    const Link* const link = find(ev);
    return link != nullptr && link->suspected;
  }
  bool proven(EvIndex ev) const {
    const Link* const link = find(ev);
    return link != nullptr && link->last_delivered_sent > kLongAgo;
  }
  // When the first packet of a link that is under test was sent; Instant::never(): it is not under test.
  Instant tested_since(EvIndex ev) const {
    const Link* const link = find(ev);
    if (link == nullptr || link->last_delivered_sent > kLongAgo || link->lost_evs != 0) return Instant::never();
    return link->first_sent;
  }
  void check() const;

 private:
  struct Link {
    Instant first_sent = Instant::never();
    Instant last_delivered_sent = kLongAgo;
    Instant last_loss_sent = kLongAgo;
    uint32_t round = 1;     // an EV counts once in each
    uint32_t lost_evs = 0;  // in this round
    PlaneId plane;
    bool suspected = false;
  };
  const Link* find(EvIndex ev) const {
    const std::optional<LinkIndex> link = links_.of(ev);
    return link ? &state_[link->value()] : nullptr;
  }
  Link* find(EvIndex ev) {
    const std::optional<LinkIndex> link = links_.of(ev);
    return link ? &state_[link->value()] : nullptr;
  }
  bool reset(Link* link);

  const EvLinks& links_;
  std::vector<Link> state_;  // by LinkIndex
  PerEv<uint32_t> counted_;  // the round of its link in which a loss of the EV was counted last
  PerPlane<uint16_t> left_;  // links that are not suspected
};

}  // namespace mrc::core
