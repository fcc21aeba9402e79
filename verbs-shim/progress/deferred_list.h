// DeferredList: objects with work left for the next round of progress, each at most once and in the order of add(). Any
// thread may add; one at a time serves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

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
  }
  // Calls it for each object, which may be added again by that: for the next round. False: there was none.
  template <typename Serve>
  bool serve(const Serve& serve) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty()) return false;
      served_.swap(waiting_);
      for (Object* const object : served_) object->deferred = false;
    }
    for (Object* const object : served_) serve(object);
    served_.clear();
    return true;
  }

 private:
  Mutex mutex_;
  std::vector<Object*> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<Object*> served_;  // of the thread that serves
};

}  // namespace mrc::shim
