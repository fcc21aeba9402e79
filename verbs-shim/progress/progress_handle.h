// ProgressHandle: the progress thread of a context, from its first start to its end.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "progress/progress_thread.h"

namespace mrc::shim {

class ProgressHandle {
 public:
  // The thread, to wake it; null while there is none. Any thread may ask, without a lock.
  ProgressThread* get() const { return running_.load(); }

  // The following: one thread at a time. Without an effect while it runs.
  void start(Context* context) {
    if (thread_ != nullptr) return;
    thread_ = std::make_unique<ProgressThread>(context);
    running_.store(thread_.get());
  }
  // The caller destroys the thread, which joins it, without the locks that it takes.
  [[nodiscard]] std::unique_ptr<ProgressThread> stop() {
    running_.store(nullptr);
    return std::move(thread_);
  }

 private:
  std::unique_ptr<ProgressThread> thread_;
  std::atomic<ProgressThread*> running_{nullptr};  // the same
};

}  // namespace mrc::shim
