// Deferred: what is found while the engine runs, to be handled after it has returned: handling it may call the engine,
// and so find more. Nothing is allocated once it has grown.
#pragma once

#include <vector>

namespace mrc::sim {

template <typename T>
class Deferred {
 public:
  bool empty() const { return waiting_.empty(); }
  void add(const T& item) { waiting_.push_back(item); }
  // Calls handle(item) in the order of add(), also for items that are added meanwhile, until there is none.
  template <typename Handle>
  void drain(const Handle& handle) {
    while (!waiting_.empty()) {
      handled_.swap(waiting_);
      for (const T& item : handled_) handle(item);
      handled_.clear();
    }
  }

 private:
  std::vector<T> waiting_, handled_;
};

}  // namespace mrc::sim
