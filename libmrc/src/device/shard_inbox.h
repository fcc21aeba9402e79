// ShardInbox: what the other engines of this process on the device report to one of them: paths that failed, and
// changes of EVs in profiles. The engine's helper takes the reports out and applies them, so a packet that the
// reporting engine handles never waits for another engine's lock.
//
// Bounded: a report that finds no room is dropped. Under a mutex of its own, which is taken after a device's lock, and
// only when the state of a path changes. An inbox outlives its engine while another one still refers to it.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "core/types.h"
#include "ctl/profile_store.h"
#include "mutex.h"
#include "wakeup.h"

namespace mrc::device {

class ShardInbox {
 public:
  static constexpr size_t kMaxReports = 1024;

  using Report = std::variant<core::PathReport, ctl::EvChange>;

  // Readable while there are reports; -1: the process has no descriptor left, and no report is accepted.
  int fd() const { return wakeup_.fd(); }
  // Any thread. False: no room, and the report is dropped. Throws std::bad_alloc.
  bool push(const Report& report) ABSL_LOCKS_EXCLUDED(mutex_);
  // All reports, oldest first.
  std::vector<Report> take() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const Wakeup wakeup_ = Wakeup::make();
  Mutex mutex_;
  std::vector<Report> reports_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::device
