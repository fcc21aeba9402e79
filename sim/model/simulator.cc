// The only source that includes ns-3; built as C++17.
//
// QuickScheduler is ns-3's event queue for this model, a CalendarQueue: ns-3's own heap spends half of a run in calls
// that exchange two elements at a time. Order is ns-3's: time, then order of insertion. It also records the time of the
// event that is being carried out.
#include "sim/model/simulator.h"

#include <ns3/event-impl.h>
#include <ns3/object-factory.h>
#include <ns3/scheduler.h>
#include <ns3/simulator.h>

#include <new>
#include <utility>

#include "sim/model/calendar_queue.h"

namespace mrc::sim {

Ps detail::simulator_now = 0;

namespace {

// ns-3's context of an event, here the kind of its implementation.
constexpr uint32_t kRecurring = 1, kOther = 0;

}  // namespace

class RecurringEvent::Impl final : public ns3::EventImpl {
 public:
  Impl(void* target, Call call, Call before) : target_(target), call_(call), expect_(before) {}
  void expect() const {
    if (expect_ != nullptr) expect_(target_);
  }

 protected:
  void Notify() override { call_(target_); }

 private:
  void* target_;
  Call call_;
  Call expect_;
};

class QuickScheduler final : public ns3::Scheduler {
 public:
  static ns3::TypeId GetTypeId();
  QuickScheduler() { detail::simulator_now = 0; }

  void Insert(const Event& ev) override { queue_.insert(ev); }
  bool IsEmpty() const override { return queue_.empty(); }
  Event PeekNext() const override { return queue_.front(); }
  Event RemoveNext() override;
  void Remove(const Event& ev) override { queue_.remove(ev.key.m_uid); }

 private:
  void expect_next() const;

  mutable CalendarQueue<Event> queue_;  // sorts when it is asked for the first event
};

NS_OBJECT_ENSURE_REGISTERED(QuickScheduler);

ns3::TypeId QuickScheduler::GetTypeId() {
  static const ns3::TypeId id = ns3::TypeId("mrc::sim::QuickScheduler")
                                    .SetParent<ns3::Scheduler>()
                                    .SetGroupName("Core")
                                    .AddConstructor<QuickScheduler>();
  return id;
}

ns3::Scheduler::Event QuickScheduler::RemoveNext() {
  const Event next = queue_.pop();
  expect_next();
  detail::simulator_now = static_cast<Ps>(next.key.m_ts);
  return next;
}

// A run waits for memory more than for anything else: an event is fetched when some others are still before it, and
// somewhat later fetches what it will read.
void QuickScheduler::expect_next() const {
  if (const Event* const far = queue_.ahead(5)) {
    const auto* const impl = reinterpret_cast<const std::byte*>(far->impl);
    for (const int line : {-192, -128, -64, 0}) __builtin_prefetch(impl + line);
  }
  if (const Event* const near = queue_.ahead(2); near != nullptr && near->key.m_context == kRecurring)
    static_cast<const RecurringEvent::Impl*>(near->impl)->expect();
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
  ns3::Simulator::ScheduleWithContext(kOther, ns3::Time(delay), std::move(f));
}

RecurringEvent::Impl* RecurringEvent::impl() {
  return std::launder(reinterpret_cast<Impl*>(impl_));
}

RecurringEvent::RecurringEvent(void* target, Call call, Call expect) {
  static_assert(sizeof(Impl) <= sizeof(impl_) && alignof(Impl) <= 8);
  new (impl_) Impl(target, call, expect);
}

RecurringEvent::~RecurringEvent() {
  impl()->~Impl();
}

void RecurringEvent::schedule_in(Ps delay) {
  Impl* const event = impl();
  event->Ref();  // released by ns-3 when the event has been carried out
  ns3::Simulator::ScheduleWithContext(kRecurring, ns3::Time(delay), event);
}

}  // namespace mrc::sim
