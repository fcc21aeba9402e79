// HandleTable: objects by handles of 32 bits, as the kernel hands them out: never 0, and a handle is used again only
// when its object is gone and all others have had their turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace mrc::shim::rdma_cm {

template <typename T>
class HandleTable {
 public:
  // For the next object; no other one has it.
  uint32_t new_handle() {
    do ++last_;
    while (last_ == 0 || objects_.count(last_) != 0);
    return last_;
  }
  T& emplace(uint32_t handle, T object) { return objects_.emplace(handle, std::move(object)).first->second; }

  auto begin() { return objects_.begin(); }
  auto end() { return objects_.end(); }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }
  auto find(uint32_t handle) { return objects_.find(handle); }
  auto find(uint32_t handle) const { return objects_.find(handle); }
  auto erase(typename std::map<uint32_t, T>::iterator at) { return objects_.erase(at); }
  void erase(uint32_t handle) { objects_.erase(handle); }
  T& at(uint32_t handle) { return objects_.at(handle); }
  size_t count(uint32_t handle) const { return objects_.count(handle); }
  size_t size() const { return objects_.size(); }
  bool empty() const { return objects_.empty(); }

 private:
  std::map<uint32_t, T> objects_;
  uint32_t last_ = 0;
};

}  // namespace mrc::shim::rdma_cm
