// Completion channel: a descriptor that is readable while completion events wait, and the list of CQs they belong to.
//
// The descriptor is an eventfd in semaphore mode that counts the waiting events. The application may read it, too, or
// two threads of it at once, so only the list determines whether there is an event, and no call blocks on the count
// with the mutex held.
// Lock order: device, then CQ, then channel.
#pragma once

#include <atomic>

#include "api/public.h"
#include "fd.h"
#include "mutex.h"

struct mrc_comp_channel {
 public:
  [[nodiscard]] int open(mrc_context* owner);  // 0, or an errno value

  int fd() const { return fd_.get(); }
  mrc_context* context() const { return context_; }

  void attach() { change_users(1); }
  void detach() { change_users(-1); }
  bool in_use() ABSL_LOCKS_EXCLUDED(mutex_);

  std::atomic<int> armed{0};  // of the CQs, in the first shard

  void raise(mrc_cq* cq)
      ABSL_LOCKS_EXCLUDED(mutex_);  // one more event of this CQ; any thread, device and CQ locks may be held
  [[nodiscard]] int get(mrc_cq** cq)
      ABSL_LOCKS_EXCLUDED(mutex_);  // 0, or an errno value; blocks unless the descriptor is O_NONBLOCK
  void ack(mrc_cq* cq, unsigned int n) ABSL_LOCKS_EXCLUDED(mutex_);
  void forget(mrc_cq* cq) ABSL_LOCKS_EXCLUDED(
      mutex_);  // drops waiting events, then waits until those returned to the application are acknowledged

 private:
  void change_users(int by) ABSL_LOCKS_EXCLUDED(mutex_);
  mrc_cq* pop() ABSL_LOCKS_EXCLUDED(mutex_);
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mrc::Mutex mutex_;
  mrc::CondVar acked_;
  mrc_context* context_ = nullptr;
  mrc_cq* head_ ABSL_GUARDED_BY(mutex_) = nullptr;  // CQs with waiting events, linked by EventState::next
  mrc_cq* tail_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int users_ ABSL_GUARDED_BY(mutex_) = 0;
  mrc::Fd fd_;
};
