#include "core/tx_scheduler.h"

#include "core/qp.h"
#include "invariant.h"

namespace mrc::core {

void TxScheduler::count(const TxBurst& burst) {
  ++engine_.counters.tx_bursts;
  engine_.counters.tx_packets += burst.segments;
  engine_.counters.tx_bytes += burst.bytes;
  PlaneCounters& plane = engine_.plane_counters[burst.plane];
  plane.tx_packets += burst.segments;
  plane.tx_bytes += burst.bytes;
}

bool TxScheduler::poll(Instant now, TxBurst* out, PlaneSet planes_with_room) {
  out->segments = 0;
  if (datagrams_ != nullptr) datagrams_->complete_sent();
  if (nothing_waits()) return false;  // most calls of a program that polls
  planes_with_room &= engine_.planes_up;
  const bool found =
      control_.pop(out, planes_with_room) || (!planes_with_room.empty() && poll_requests(now, out, planes_with_room));
  if (found) count(*out);
  return found;
}

// No packet is queued, and no QP may send or answer.
bool TxScheduler::nothing_waits() const {
  return control_.empty() && ready_.empty() && acks_pending_.empty() &&
         (datagrams_ == nullptr || !datagrams_->any_ready());
}

bool TxScheduler::poll_requests(Instant now, TxBurst* out, PlaneSet planes_with_room) {
  if (datagrams_first_ && poll_datagrams(now, out, planes_with_room)) {
    datagrams_first_ = false;
    return true;
  }
  if ((answers_come_first() && poll_answers(now, out, planes_with_room)) || poll_data(now, out, planes_with_room) ||
      poll_answers(now, out, planes_with_room)) {
    datagrams_first_ = true;
    return true;
  }
  return !datagrams_first_ && poll_datagrams(now, out, planes_with_room);
}

bool TxScheduler::poll_datagrams(Instant now, TxBurst* out, PlaneSet planes_with_room) {
  out->segments = 0;
  return datagrams_ != nullptr && datagrams_->poll(now, out, planes_with_room);
}

// Answers leave first, except where the QP is about to send data itself: then they follow the data, unless the
// configuration puts answers first (the simulator's does, whose bursts are single packets).
bool TxScheduler::answers_come_first() const {
  const QpContext* first = acks_pending_.front();
  return first != nullptr &&
         (engine_.config.answers_first || !first->ready.linked || data_before_answers_ >= kMaxDataBeforeAnswers);
}

bool TxScheduler::poll_data(Instant now, TxBurst* out, PlaneSet planes_with_room) {
  // A QP whose paths are all full must not block the others: it moves to the back, and one lap is enough.
  QpContext* first_stuck = nullptr;
  for (QpContext* next = ready_.front(); next != nullptr && next != first_stuck; next = ready_.front()) {
    Qp* const qp = static_cast<Qp*>(next);
    out->segments = 0;
    const Requester::Build result =
        qp->state == QpState::kRts ? qp->build_data(now, planes_with_room, out) : Requester::Build::kNothing;
    ready_.remove(qp);
    if constexpr (kCheckInvariants) qp->check();
    if (result == Requester::Build::kNothing) continue;
    if (result == Requester::Build::kNoRoom || qp->requester.may_send()) ready_.push_back(qp);
    if (result == Requester::Build::kNoRoom) {
      if (first_stuck == nullptr) first_stuck = qp;
      continue;
    }
    qp->responder.flush_behind_data();
    if (!acks_pending_.empty()) ++data_before_answers_;
    return true;
  }
  return false;
}

// One burst of a QP's pending answers.
bool TxScheduler::poll_answers(Instant now, TxBurst* out, PlaneSet planes_with_room) {
  QpContext* first_stuck = nullptr;
  for (QpContext* next = acks_pending_.front(); next != nullptr && next != first_stuck; next = acks_pending_.front()) {
    Qp* const qp = static_cast<Qp*>(next);
    out->segments = 0;
    const bool sent = qp->peer != nullptr && qp->responder.build(now, planes_with_room, out);
    acks_pending_.remove(qp);
    if (qp->peer != nullptr && qp->responder.has_pending_acks()) acks_pending_.push_back(qp);
    if constexpr (kCheckInvariants) qp->check();
    if (sent) {
      data_before_answers_ = 0;
      return true;
    }
    if (first_stuck == nullptr) first_stuck = qp;
    if (!qp->acks_pending.linked) first_stuck = nullptr;
  }
  return false;
}

}  // namespace mrc::core
