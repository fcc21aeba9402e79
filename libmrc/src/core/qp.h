// Qp: one queue pair: its attributes and state, a requester, a responder, and its place in the endpoint's lists and
// timers. The two halves do not know each other; the endpoint hands each what concerns it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/ev_rotation.h"
#include "core/requester.h"
#include "core/responder.h"
#include "core/timer_heap.h"
#include "core/types.h"

namespace mrc::core {

class EndpointImpl;
struct Peer;

// Doubly linked membership in one of the endpoint's lists; no allocation.
struct QpLink {
  Qp* prev = nullptr;
  Qp* next = nullptr;
  bool linked = false;
};

class Qp {
 public:
  Qp(EndpointImpl* endpoint, const QpInit& init_attr)
      : ep(endpoint),
        cookie(init_attr.cookie),
        qpn(init_attr.qpn),
        pd(init_attr.pd),
        caps(init_attr.caps),
        requester(this),
        responder(this) {
    timer.owner = this;
    timer.is_qp = true;
  }

  // Moves the QP's timer to the earlier of its two halves' deadlines.
  void rearm();

  EndpointImpl* const ep;
  void* const cookie;
  const uint32_t qpn;
  const uint32_t pd;
  const QpCaps caps;
  QpState state = QpState::kReset;
  QpAttr attr;
  Mailbox mailbox;  // stays through a reset
  Peer* peer = nullptr;
  Requester requester;
  Responder responder;
  TimerNode timer;
  QpLink ready;    // has data to send
  QpLink control;  // owes SACKs or ACKs
};

}  // namespace mrc::core
