// QuickScheduler: ns-3's event queue for this model. ns-3's own heap spends half of a run in calls that exchange two
// elements at a time; this one is a four-way heap that moves a hole. Order is ns-3's: time, then order of insertion.
//
// It also knows the time of the event that is being carried out, so the model asks here, ten times per packet, instead
// of Simulator::Now().
#pragma once

#include <ns3/scheduler.h>

#include <cstdint>
#include <vector>

namespace mrc::sim {

class QuickScheduler final : public ns3::Scheduler {
 public:
  static ns3::TypeId GetTypeId();
  QuickScheduler() { now_ = 0; }

  void Insert(const Event& ev) override;
  bool IsEmpty() const override { return heap_.empty(); }
  Event PeekNext() const override { return heap_.front(); }
  Event RemoveNext() override;
  void Remove(const Event& ev) override;

  static int64_t now() { return now_; }

 private:
  static bool before(const Event& a, const Event& b) {
    return a.key.m_ts != b.key.m_ts ? a.key.m_ts < b.key.m_ts : a.key.m_uid < b.key.m_uid;
  }
  void rise(size_t i, const Event& ev);
  void sink(size_t i, const Event& ev);

  static inline int64_t now_ = 0;
  std::vector<Event> heap_;
};

}  // namespace mrc::sim
