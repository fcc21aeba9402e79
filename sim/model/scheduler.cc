#include "sim/model/scheduler.h"

#include <algorithm>

namespace mrc::sim {

NS_OBJECT_ENSURE_REGISTERED(QuickScheduler);

ns3::TypeId QuickScheduler::GetTypeId() {
  static const ns3::TypeId id = ns3::TypeId("mrc::sim::QuickScheduler")
                                    .SetParent<ns3::Scheduler>()
                                    .SetGroupName("Core")
                                    .AddConstructor<QuickScheduler>();
  return id;
}

void QuickScheduler::rise(size_t i, const Event& ev) {
  while (i > 0) {
    const size_t parent = (i - 1) / 4;
    if (!before(ev, heap_[parent])) break;
    heap_[i] = heap_[parent];
    i = parent;
  }
  heap_[i] = ev;
}

void QuickScheduler::sink(size_t i, const Event& ev) {
  const size_t n = heap_.size();
  for (;;) {
    const size_t first = 4 * i + 1;
    if (first >= n) break;
    size_t least = first;
    const size_t end = std::min(first + 4, n);
    for (size_t k = first + 1; k < end; ++k)
      if (before(heap_[k], heap_[least])) least = k;
    if (!before(heap_[least], ev)) break;
    heap_[i] = heap_[least];
    i = least;
  }
  heap_[i] = ev;
}

void QuickScheduler::Insert(const Event& ev) {
  heap_.push_back(ev);
  rise(heap_.size() - 1, ev);
}

ns3::Scheduler::Event QuickScheduler::RemoveNext() {
  const Event top = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sink(0, last);
  now_ = static_cast<int64_t>(top.key.m_ts);
  return top;
}

void QuickScheduler::Remove(const Event& ev) {
  const auto found =
      std::find_if(heap_.begin(), heap_.end(), [&](const Event& e) { return e.key.m_uid == ev.key.m_uid; });
  if (found == heap_.end()) return;
  const auto at = static_cast<size_t>(found - heap_.begin());
  const Event last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) return;
  if (at > 0 && before(last, heap_[(at - 1) / 4])) {
    rise(at, last);
  } else {
    sink(at, last);
  }
}

}  // namespace mrc::sim
