#include "core/qp.h"

#include <algorithm>

#include "core/burst_builder.h"
#include "core/peer.h"
#include "core/tx_scheduler.h"
#include "invariant.h"

namespace mrc::core {

Qp::Qp(const QpServices& s, const QpInit& init) : QpContext(s, init), requester(this), responder(this) {
  timer.qp = this;
  requester.init(init.caps);
  responder.init(init.caps);
}

void Qp::stop(Instant now, WcStatus first) {
  services.scheduler.remove_ready(this);
  requester.flush(now, first);
  responder.flush();
  set_deadline(QpHalf::kRequester, requester.deadline());
  set_deadline(QpHalf::kResponder, responder.deadline());
}

void Qp::fail(Instant now, WcStatus first, AsyncEvent event) {
  if (state == QpState::kError) return;
  state = QpState::kError;
  ++engine.counters.qp_errors;
  engine.report(now, qpn, TraceTrigger::kFatal, event::QpState{.state = QpState::kError, .cause = first});
  stop(now, first);
  sink.on_event(event);
}

void Qp::flush_by_application(Instant now) {
  state = QpState::kError;
  stop(now, WcStatus::kFlushed);
}

void Qp::reset() {
  services.scheduler.remove(this);
  requester.reset();
  responder.reset();
  set_deadline(QpHalf::kRequester, Instant::never());
  set_deadline(QpHalf::kResponder, Instant::never());
  engine.timers.remove(&timer);
  state = QpState::kReset;
}

Requester::Build Qp::build_data(Instant now, PlaneSet planes_with_room, TxBurst* out) {
  BurstBuilder builder(out, engine.config.icrc);
  const Requester::Build result = requester.build(now, planes_with_room, out, &builder);
  if (result != Requester::Build::kSent) return result;
  uint32_t data_packets = out->segments;
  responder.append_ack(now, &builder, out);
  builder.finish();
  if (builder.unreadable()) {
    requester.on_unreadable(now, builder.unreadable()->psn, builder.unreadable()->address);
    if (state == QpState::kError || out->segments == 0) return Requester::Build::kNothing;
    data_packets = std::min(data_packets, out->segments);
  }
  peer->paths.on_data_sent(now, out->ev_index, data_packets, out->bytes);
  return result;
}

void Qp::on_timer(Instant now) {
  responder.on_timer(now);
  if (state == QpState::kRts) requester.on_timer(now);
  set_deadline(QpHalf::kRequester, requester.deadline());
  set_deadline(QpHalf::kResponder, responder.deadline());
  if constexpr (kCheckInvariants) check();
}

void Qp::check() const {
  MRC_INVARIANT(peer != nullptr || !receiving());
  MRC_INVARIANT(!ready.linked || state == QpState::kRts);
  // Every due event has a timer.
  MRC_INVARIANT(deadline(QpHalf::kRequester) <= requester.deadline() || state != QpState::kRts);
  MRC_INVARIANT(deadline(QpHalf::kResponder) <= responder.deadline());
  MRC_INVARIANT(timer.deadline <= std::min(deadline(QpHalf::kRequester), deadline(QpHalf::kResponder)));
  requester.check();
  responder.check();
}

void Qp::make_ready() {
  services.scheduler.make_ready(this);
}

}  // namespace mrc::core
