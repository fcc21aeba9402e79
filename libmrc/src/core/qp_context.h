// QpContext: the interface of a QP's halves, Requester and Responder, to their QP and the engine. They have no
// reference to each other or to the endpoint: requests of one of them to the whole QP use this class.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ids.h"
#include "core/engine_context.h"
#include "core/timer_heap.h"
#include "core/types.h"

namespace mrc::core {

class ControlQueue;
class PathProber;
class QpContext;
class TxScheduler;
struct Peer;

// The parts of the engine that a QP uses beside what all of them share.
struct QpServices {
  EngineContext& engine;
  ControlQueue& control;
  TxScheduler& scheduler;
  PathProber& prober;
};

// Doubly linked membership in one of the scheduler's lists; no allocation.
struct QpLink {
  QpContext* prev = nullptr;
  QpContext* next = nullptr;
  bool linked = false;
};

enum class QpHalf : uint8_t { kRequester, kResponder };

class QpContext {
 public:
  QpContext(const QpServices& s, const QpInit& init)
      : services(s), engine(s.engine), sink(*init.sink), qpn(init.qpn), pd(init.pd) {}
  QpContext(const QpContext&) = delete;
  QpContext& operator=(const QpContext&) = delete;

  // Ends the QP: the state becomes kError, outstanding work is completed with `first` and flush errors, and the
  // application is notified by `event`. No effect if it is in error already. [MRC-QP-2]
  virtual void fail(Instant now, WcStatus first, AsyncEvent event) = 0;

  bool receiving() const { return state == QpState::kRtr || state == QpState::kRts; }
  // The time at which a half has to be called next; never(): not at all.
  void set_deadline(QpHalf half, Instant at) {
    deadlines_[static_cast<size_t>(half)] = at;
    engine.timers.set(&timer, std::min(deadlines_[0], deadlines_[1]));
  }
  Instant deadline(QpHalf half) const { return deadlines_[static_cast<size_t>(half)]; }

  const QpServices& services;
  EngineContext& engine;
  QpSink& sink;
  const Qpn qpn;
  const uint32_t pd;
  QpState state = QpState::kReset;
  QpAttr attr;
  Mailbox mailbox;  // stays through a reset
  Peer* peer = nullptr;
  TimerNode timer;
  QpLink ready;         // has data to send
  QpLink acks_pending;  // has pending SACKs or ACKs

 protected:
  ~QpContext() = default;

 private:
  std::array<Instant, 2> deadlines_{Instant::never(), Instant::never()};
};

}  // namespace mrc::core
