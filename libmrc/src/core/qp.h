// Qp: one queue pair: a requester, a responder, and their common state.
#pragma once

#include <cstdint>

#include "core/qp_context.h"
#include "core/requester.h"
#include "core/responder.h"

namespace mrc::core {

class Qp final : public QpContext {
 public:
  Qp(const QpServices& services, const QpInit& init);

  void fail(Instant now, WcStatus first, AsyncEvent event) override;
  // The application ends it: outstanding work is flushed, and there is no event [MRC-QP-2].
  void flush_by_application(Instant now);
  // Clears everything except the mailbox; the caller has released the peer [MRC-QP-3].
  void reset();

  // One burst of data, and behind it the QP's pending transport ACK, if useful.
  Requester::Build build_data(Instant now, PlaneSet planes_with_room, TxBurst* out);
  void on_timer(Instant now);
  // Has data to send: joins the list of QPs that may send.
  void make_ready();
  // An answer to the peer is pending, or sends are not completed.
  bool busy() const {
    return !requester.idle() || responder.has_pending_acks() || responder.deadline() < Instant::never();
  }
  void check() const;

  Requester requester;
  Responder responder;

 private:
  void stop(Instant now, WcStatus first);
};

}  // namespace mrc::core
