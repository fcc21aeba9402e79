// DeferredList: objects with work left for the next round of progress, each at most once and in the order of add(). Any
// thread may add; one at a time serves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "invariant.h"
#include "mutex.h"

namespace mrc::shim {

// An Object has a member `bool deferred`, which belongs to the list.
template <typename Object>
class DeferredList {
 public:
  // Needs no memory for objects within the last reserve(). False: it is in the list already.
  bool add(Object* object) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    if (object->deferred) return false;
    object->deferred = true;
    waiting_.push_back(object);
    check();
    return true;
  }
  bool empty() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return waiting_.empty();
  }

  // The following: one thread at a time.
  void reserve(size_t objects) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    for (std::vector<Object*>* list : {&waiting_, &served_})
      if (list->capacity() < objects) list->reserve(2 * objects);
  }
  void remove(Object* object) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), object), waiting_.end());
    check();
  }
  // Calls it for each object, which may be added again by that: for the next round. False: there was none.
  template <typename Serve>
  bool serve(const Serve& serve) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty()) return false;
      check();
      served_.swap(waiting_);
      for (Object* const object : served_) object->deferred = false;
    }
    for (Object* const object : served_) serve(object);
    served_.clear();
    return true;
  }

 private:
  // An object that waits knows it, so it is in the list once.
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if constexpr (!kCheckInvariants) return;
    if (!pace_.due(waiting_.size())) return;
    for (const Object* object : waiting_) MRC_INVARIANT(object->deferred);
  }

  Mutex mutex_;
  std::vector<Object*> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<Object*> served_;  // of the thread that serves
  mutable InvariantPace pace_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::shim
