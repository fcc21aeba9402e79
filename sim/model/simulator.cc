// The only source that includes ns-3; built as C++17.
//
// QuickScheduler is ns-3's event queue for this model. ns-3's own heap spends half of a run in calls that exchange two
// elements at a time; this one is a four-way heap that moves a hole. Order is ns-3's: time, then order of insertion. It
// also records the time of the event that is being carried out.
#include "sim/model/simulator.h"

#include <ns3/event-impl.h>
#include <ns3/object-factory.h>
#include <ns3/scheduler.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace mrc::sim {

Ps detail::simulator_now = 0;

class QuickScheduler final : public ns3::Scheduler {
 public:
  static ns3::TypeId GetTypeId();
  QuickScheduler() { detail::simulator_now = 0; }

  void Insert(const Event& ev) override;
  bool IsEmpty() const override { return heap_.empty(); }
  Event PeekNext() const override { return heap_.front(); }
  Event RemoveNext() override;
  void Remove(const Event& ev) override;

 private:
  static bool before(const Event& a, const Event& b) {
    return a.key.m_ts != b.key.m_ts ? a.key.m_ts < b.key.m_ts : a.key.m_uid < b.key.m_uid;
  }
  void rise(size_t i, const Event& ev);
  void sink(size_t i, const Event& ev);

  std::vector<Event> heap_;
};

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
    size_t min = first;
    const size_t end = std::min(first + 4, n);
    for (size_t k = first + 1; k < end; ++k)
      if (before(heap_[k], heap_[min])) min = k;
    if (!before(heap_[min], ev)) break;
    heap_[i] = heap_[min];
    i = min;
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
  detail::simulator_now = static_cast<Ps>(top.key.m_ts);
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

void prepare_simulator() {
  if (ns3::Time::GetResolution() != ns3::Time::PS) ns3::Time::SetResolution(ns3::Time::PS);
  ns3::ObjectFactory factory;
  factory.SetTypeId(QuickScheduler::GetTypeId());
  ns3::Simulator::SetScheduler(factory);
}

void run_simulator() {
  ns3::Simulator::Run();
}

void stop_simulator() {
  ns3::Simulator::Stop();
}

void stop_simulator_in(Ps delay) {
  ns3::Simulator::Stop(ns3::Time(delay));
}

void destroy_simulator() {
  ns3::Simulator::Destroy();
}

uint64_t simulator_events() {
  return ns3::Simulator::GetEventCount();
}

void schedule_in(Ps delay, std::function<void()> f) {
  ns3::Simulator::Schedule(ns3::Time(delay), std::move(f));
}

class RecurringEvent::Impl final : public ns3::EventImpl {
 public:
  Impl(void* target, Call call) : target_(target), call_(call) {}

 protected:
  void Notify() override { call_(target_); }

 private:
  void* target_;
  Call call_;
};

RecurringEvent::RecurringEvent(void* target, Call call) : impl_(new Impl(target, call)) {}

RecurringEvent::~RecurringEvent() {
  impl_->Unref();
}

void RecurringEvent::schedule_in(Ps delay) {
  ns3::Simulator::Schedule(ns3::Time(delay), ns3::Ptr<ns3::EventImpl>(impl_));
}

}  // namespace mrc::sim
