// EvEvents: the queued events of a CQ for EV events. It never overruns: an EV has at most one queued event, which is
// updated by further changes. [MRC-EVT-*, spec/controller.md]
//
// Under a mutex of its own, taken after the device's. The device pushes, the application takes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "api/public.h"
#include "ctl/profile_store.h"
#include "mutex.h"

namespace mrc::api {

class EvEvents {
 public:
  // False when there is no memory for one more: the state can still be queried.
  bool push(const ctl::EvChange& change, uint64_t losses) noexcept ABSL_LOCKS_EXCLUDED(mutex_);
  // Up to `max` events, `stride` bytes apart, oldest first; `with_state`: the caller's structure has the last member.
  int take(int max, void* out, size_t stride, bool with_state) ABSL_LOCKS_EXCLUDED(mutex_);
  bool empty() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Key = std::pair<uint64_t, std::array<uint8_t, sizeof(mrc_ctl_ev)>>;
  Mutex mutex_;
  std::deque<Key> order_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, mrc_ctl_ev_event> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::api
