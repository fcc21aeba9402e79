// Taking completions out of the MRC completion queue and serving them.
#include <algorithm>

#include "clock_ns.h"
#include "objects/base_qp.h"
#include "objects/context.h"

namespace mrc::shim {

// Completions of own requests come first: an answer and the acknowledgement of its request arrive together, and in this
// order no answer waits. Failed ones come last: a confirmation that arrived before decides which requests have
// succeeded [VRB-REQ-6]. Each kind by itself stays in order.
enum class CompletionKind : uint8_t { kDone, kArrival, kFailed };

namespace {

constexpr int kBatch = 32;

CompletionKind kind_of(const ibv_wc& wc) {
  if ((wc.opcode & IBV_WC_RECV) != 0 || wc.opcode == MRC_SOFT_WC_MAILBOX) return CompletionKind::kArrival;
  return wc.status == IBV_WC_SUCCESS ? CompletionKind::kDone : CompletionKind::kFailed;
}

}  // namespace

uint64_t Context::now() {
  return static_cast<uint64_t>(environment::clock_ns(CLOCK_MONOTONIC));
}

void Context::defer(BaseQp* qp) {
  if (!deferred_.add(qp)) return;
  if (ProgressThread* const progress = progress_.get()) progress->wake_if_asleep();
}

// The work left by the last batch. Confirmations wait until here, so that one serves for many messages, and leave at
// the latest when the application polls again after its completions.
bool Context::serve_deferred() {
  return deferred_.serve([](BaseQp* qp) { qp->serve(); });
}

// Those in a row that belong to one queue pair are served under one hold of its lock.
void Context::dispatch_kind(CompletionKind kind, const ibv_wc* wcs, int n) {
  for (int i = 0; i < n;) {
    BaseQp* const qp = kind_of(wcs[i]) == kind ? qps_.owner_of(wcs[i]) : nullptr;
    if (qp == nullptr) {
      ++i;
      continue;
    }
    qp->begin();
    for (; i < n; ++i) {
      if (kind_of(wcs[i]) != kind) continue;
      if (qps_.owner_of(wcs[i]) != qp) break;
      qp->dispatch(wcs[i]);
    }
    qp->end();
  }
}

void Context::dispatch(const ibv_wc* wcs, int n) {
  for (const CompletionKind kind : {CompletionKind::kDone, CompletionKind::kArrival, CompletionKind::kFailed})
    dispatch_kind(kind, wcs, n);
}

void Context::drain() {
  ibv_wc wcs[kBatch];
  uint64_t left = room_.entries();  // others go on producing
  for (int n = kBatch; n == kBatch && left > 0; left -= std::min<uint64_t>(left, kBatch)) {
    n = pump_queue_.poll(kBatch, wcs);
    dispatch(wcs, n);
  }
}

bool Context::pump(bool wait) {
  constexpr int kRounds = 4;
  if (wait) {
    pump_mutex_.lock();
  } else if (!pump_mutex_.try_lock()) {
    return false;
  }
  const MutexLock lock(pump_mutex_, std::adopt_lock);
  bool any = serve_deferred();
  ibv_wc wcs[kBatch];
  for (int round = 0; round < kRounds; ++round) {
    const int n = pump_queue_.poll(kBatch, wcs);
    dispatch(wcs, n);
    any |= n > 0;
    if (n < kBatch) break;
  }
  if (timers_.load(std::memory_order_relaxed) > 0) {
    const uint64_t at = now();
    qps_.for_each([at](BaseQp* qp) { qp->tick(at); });
  }
  check();
  return any;
}

void Context::resume(std::vector<BaseQp*>* waiting) {
  for (BaseQp* qp : *waiting) {
    qp->begin();
    qp->end();
  }
}

uint64_t Context::deadline() {
  const MutexLock lock(pump_mutex_);
  uint64_t earliest = UINT64_MAX;
  if (timers_.load(std::memory_order_relaxed) == 0) return earliest;
  qps_.for_each([&earliest](BaseQp* qp) { earliest = std::min(earliest, qp->deadline()); });
  return earliest;
}

bool Context::keep_alive() {
  const MutexLock lock(pump_mutex_);
  bool waits = false;
  qps_.for_each([&waits](BaseQp* qp) { waits |= qp->keep_alive(); });
  return waits;
}

bool Context::settled() {
  const MutexLock lock(pump_mutex_);
  bool all = true;
  qps_.for_each([&all](BaseQp* qp) { all = all && qp->settled(); });
  return all;
}

void Context::take_mrc_events() {
  while (const auto event = device_.take_event()) {
    if (event->qpn) on_qp_event(*event->qpn, event->type);
    if (event->type == IBV_EVENT_PORT_ACTIVE || event->type == IBV_EVENT_PORT_ERR) on_port_event();
  }
}

// The completions of MRC's queue pair precede its event, and may have the reason.
void Context::on_qp_event(uint32_t qpn, ibv_event_type type) {
  const MutexLock lock(pump_mutex_);
  drain();
  qps_.for_each([qpn, type](BaseQp* qp) {
    if (qp->verbs()->qp_num == qpn) qp->on_mrc_event(type);
  });
}

void Context::on_port_event() {
  const std::optional<bool> up = device_.port_change();
  if (!up) return;
  ibv_async_event out{};
  out.element.port_num = 1;
  out.event_type = *up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
  raise(out);
}

}  // namespace mrc::shim
