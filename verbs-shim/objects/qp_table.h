// QpTable: the queue pairs of a context, by the id in the upper half of their wr_ids and, for datagrams on a shared
// receive queue, whose requests do not know the queue pair, by queue pair number.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "invariant.h"

namespace mrc::shim {

class BaseQp;

class QpTable {
 public:
  // A free id, to which set() gives its queue pair.
  uint32_t free_id() {
    auto free = std::find(qps_.begin(), qps_.end(), nullptr);
    if (free == qps_.end()) free = qps_.insert(free, nullptr);
    return static_cast<uint32_t>(free - qps_.begin());
  }
  void set(uint32_t id, BaseQp* qp) {
    qps_[id] = qp;
    ++count_;
    check();
  }
  // Its id is free again.
  BaseQp* remove(uint32_t id) {
    BaseQp* const qp = std::exchange(qps_[id], nullptr);
    --count_;
    check();
    return qp;
  }
  size_t ids() const { return qps_.size(); }  // all are below
  size_t count() const { return count_; }
  void set_number(uint32_t qpn, BaseQp* qp) {
    by_number_[qpn] = qp;
    check();
  }
  void remove_number(uint32_t qpn) { by_number_.erase(qpn); }

  BaseQp* owner_of(const ibv_wc& wc) const {  // null: gone
    if (!by_number_.empty() && (wc.opcode & IBV_WC_RECV) != 0)
      if (const auto found = by_number_.find(wc.qp_num); found != by_number_.end()) return found->second;
    const auto id = static_cast<size_t>(wc.wr_id >> 32);
    return id < qps_.size() ? qps_[id] : nullptr;
  }
  // Calls what neither adds nor removes queue pairs.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (BaseQp* const qp : qps_)
      if (qp != nullptr) visit(qp);
  }
  // The count is that of the queue pairs, and one with a number has an id.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    if (!pace_.due((1 + by_number_.size()) * qps_.size())) return;
    MRC_INVARIANT(count_ == qps_.size() - static_cast<size_t>(std::count(qps_.begin(), qps_.end(), nullptr)));
    for (const auto& [qpn, qp] : by_number_)
      MRC_INVARIANT(qp != nullptr && std::find(qps_.begin(), qps_.end(), qp) != qps_.end());
  }

 private:
  std::vector<BaseQp*> qps_;
  size_t count_ = 0;  // of those that are not free
  std::unordered_map<uint32_t, BaseQp*> by_number_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim
