#include "device/shard_inbox.h"

namespace mrc::device {

// The helper is woken once for all reports that it has not taken yet.
bool ShardInbox::push(const Report& report) {
  if (!wakeup_) return false;
  const MutexLock lock(mutex_);
  if (reports_.size() >= kMaxReports) return false;
  reports_.push_back(report);
  if (reports_.size() == 1) wakeup_.wake();
  return true;
}

std::vector<ShardInbox::Report> ShardInbox::take() {
  std::vector<Report> taken;
  const MutexLock lock(mutex_);
  if (reports_.empty()) return taken;
  wakeup_.drain();
  taken.swap(reports_);
  return taken;
}

}  // namespace mrc::device
