#include "device/shard_reports.h"

#include <new>

#include "device/log.h"

namespace mrc::device {

void ShardReports::add(const ShardReports& other, bool first) {
  if (other.inbox_ == nullptr) return;
  others_.push_back(other.inbox_);
  if (first) first_ = other.inbox_;
}

void ShardReports::push(ShardInbox* to, const ShardInbox::Report& report) const {
  if (!to->push(report))
    log_once(LogLevel::kWarn, "device '" + config_.name +
                                  "': an engine does not take the reports of the others: it finds failed paths itself, "
                                  "and events for EVs may be missing");
}

// With SRv6 paths an EV names the same switches in every engine. Source ports are each engine's own, and so are the
// paths that the fabric chooses by them.
void ShardReports::to_others(const core::PathReport& path) {
  if (naming_of(config_.settings.ev_mode) != EvNaming::kLabel) return;
  try {
    for (const std::shared_ptr<ShardInbox>& other : others_) push(other.get(), path);
  } catch (const std::bad_alloc&) {  // the others find out by their own losses
  }
}

void ShardReports::to_first(const ctl::EvChange& change) {
  if (first_ != nullptr) push(first_.get(), change);
}

}  // namespace mrc::device
