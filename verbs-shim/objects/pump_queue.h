// PumpQueue: the completion queue of MRC to which everything goes that a context's queue pairs post, and its channel.
// Any thread, but for make().
#pragma once

#include <infiniband/verbs.h>

#include "provider/provider.h"

namespace mrc::shim {

class PumpQueue {
 public:
  static constexpr int kFirstEntries = 1024;

  explicit PumpQueue(const Provider& api) : api_(api) {}
  ~PumpQueue();
  PumpQueue(const PumpQueue&) = delete;
  PumpQueue& operator=(const PumpQueue&) = delete;
  [[nodiscard]] bool make(mrc_context* mrc, void* owner);  // false and errno

  mrc_cq* cq() const { return cq_; }
  int fd() const { return fd_; }  // readable while an event waits
  int poll(int max, ibv_wc* out) const { return api_.mrc_poll_cq(cq_, max, out); }
  int resize(uint64_t entries) const { return api_.mrc_soft_resize_cq(cq_, static_cast<int>(entries)); }
  void request_event() const { api_.mrc_req_notify_cq(cq_, 0); }  // at the next completion
  void take_event() const;                                        // if one waits

 private:
  const Provider& api_;
  mrc_comp_channel* channel_ = nullptr;
  mrc_cq* cq_ = nullptr;
  int fd_ = -1;
};

}  // namespace mrc::shim
