#include "device/shard_inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace mrc::device {

ShardInbox::ShardInbox() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

// The helper is woken once for all reports that it has not taken yet.
bool ShardInbox::push(const Report& report) {
  if (!fd_) return false;
  const MutexLock lock(mutex_);
  if (reports_.size() >= kMaxReports) return false;
  reports_.push_back(report);
  if (reports_.size() > 1) return true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  return true;
}

std::vector<ShardInbox::Report> ShardInbox::take() {
  std::vector<Report> taken;
  const MutexLock lock(mutex_);
  if (reports_.empty()) return taken;
  uint64_t written;
  [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &written, sizeof written);
  taken.swap(reports_);
  return taken;
}

}  // namespace mrc::device
