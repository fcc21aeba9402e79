// MRC context: parent of channels, CQs, QPs and asynchronous events on one opened device.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/async.h"
#include "api/public.h"
#include "api/soft_context.h"
#include "device/device.h"

struct mrc_context {
 public:
  mrc_context(mrc::api::SoftContext* soft, const ibv_context* made_from, uint32_t version);
  ~mrc_context();

  mrc::api::SoftContext& soft() const { return *soft_; }
  mrc::device::Shards& shards() const { return soft_->shards(); }
  mrc::device::Device& device() const { return device_; }      // the first shard
  const ibv_context* made_from() const { return made_from_; }  // the context or handle given; compared only
  uint32_t api_version() const { return version_; }

  void add_child() { children_.fetch_add(1); }
  void remove_child() { children_.fetch_sub(1); }
  bool has_children() const { return children_.load() > 0; }

  // Device::wait() where there is one engine, else ppoll().
  int wait(pollfd* fds, size_t count, const timespec* timeout, int armed);

  void forget_events(const void* element) { async.forget(element); }

  mrc::api::AsyncQueue async;

 private:
  mrc::api::SoftContext* const soft_;
  mrc::device::Device& device_;
  const ibv_context* const made_from_;
  const uint32_t version_;
  std::atomic<int> children_{0};
};
