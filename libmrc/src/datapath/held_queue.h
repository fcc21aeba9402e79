// Bursts that fault injection holds back: delayed ones until a time, reordered ones until later bursts have passed.
// Copies, bounded in bytes.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/ids.h"
#include "datapath/datapath.h"
#include "datapath/held_burst.h"
#include "invariant.h"

namespace mrc::datapath {

class HeldQueue {
 public:
  static constexpr uint64_t kMaxHeldBytes = 256u << 20;

  // Copies the burst. It is sent at `due`, or, when after_burst is not 0, as soon as that number of bursts has been
  // sent. False: the limit of held bytes is reached.
  bool hold(Instant due, const core::TxBurst& burst, uint64_t after_burst);
  // Sends the bursts that are due; those without room stay.
  void release(Instant now, Datapath* to);
  void release_overtaken(Instant now, uint64_t bursts, Datapath* to);
  Instant next_timeout() const;
  void check() const;

 private:
  struct Held {
    HeldBurst burst;
    uint64_t after_burst = 0;  // reordered: when that number of bursts has been sent
  };
  using Due = std::pair<int64_t, uint64_t>;  // time, order of arrival

  bool send_held(Instant now, const Held& held, Datapath* to);

  std::map<Due, Held> delayed_;
  std::map<Due, Held> overtaken_;
  Instant last_now_;
  uint64_t order_ = 0;
  uint64_t held_bytes_ = 0;
  core::TxBurst whole_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::datapath
