// ShardReports: what the engines of one device report to each other (shard_inbox.h): paths that failed [MRC-EVS-16],
// and changes of EVs in profiles, of which the first engine notifies the contexts, once whichever engines observe it.
#pragma once

#include <memory>
#include <vector>

#include "device/config.h"
#include "device/device_lock.h"
#include "device/shard_inbox.h"

namespace mrc::device {

class ShardReports {
 public:
  explicit ShardReports(const DeviceConfig& config) : config_(config) {}

  // There are other engines. Before any of the functions below, and any other thread. Throws std::bad_alloc.
  void open() { inbox_ = std::make_shared<ShardInbox>(); }
  // Reports go to that engine, too; `first`: it notifies the contexts.
  void add(const ShardReports& other, bool first) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  int fd() const { return inbox_ != nullptr ? inbox_->fd() : -1; }  // readable: some have arrived
  std::vector<ShardInbox::Report> take() const {
    return inbox_ != nullptr ? inbox_->take() : std::vector<ShardInbox::Report>();
  }
  void to_others(const core::PathReport& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void to_first(const ctl::EvChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

 private:
  void push(ShardInbox* to, const ShardInbox::Report& report) const;

  const DeviceConfig& config_;
  std::shared_ptr<ShardInbox> inbox_;  // null: there is one engine only
  std::vector<std::shared_ptr<ShardInbox>> others_ ABSL_GUARDED_BY(device_lock);
  std::shared_ptr<ShardInbox> first_ ABSL_GUARDED_BY(device_lock);  // null: this one is it
};

}  // namespace mrc::device
