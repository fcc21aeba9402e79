// TxScheduler: the order of sending. Single control packets first, then data with each QP taking one burst in turn, and
// the pending SACKs and ACKs of QPs between them, and datagrams in turn with all of these. The pending answers of a QP
// that sends data follow the data, so that a reply is not delayed by the acknowledgement of the request; but only
// behind a limited number of bursts [MRC-TX-1].
#pragma once

#include <cstdint>

#include "core/burst.h"
#include "core/control_queue.h"
#include "core/datagram_table.h"
#include "core/engine_context.h"
#include "core/qp_list.h"

namespace mrc::core {

class TxScheduler {
 public:
  static constexpr uint32_t kMaxDataBeforeAnswers = 4;  // bursts

  TxScheduler(EngineContext* engine, ControlQueue* control) : engine_(*engine), control_(*control) {}

  void set_datagrams(DatagramTable* datagrams) { datagrams_ = datagrams; }
  void make_ready(QpContext* qp) { ready_.push_back(qp); }
  void add_pending_acks(QpContext* qp) { acks_pending_.push_back(qp); }
  void remove_ready(QpContext* qp) { ready_.remove(qp); }
  void remove(QpContext* qp) {
    ready_.remove(qp);
    acks_pending_.remove(qp);
  }

  // As Endpoint::poll_tx.
  bool poll(Instant now, TxBurst* out, PlaneSet planes_with_room);
  void check() const {
    ready_.check();
    acks_pending_.check();
  }

 private:
  bool poll_requests(Instant now, TxBurst* out, PlaneSet planes_with_room);
  bool poll_datagrams(Instant now, TxBurst* out, PlaneSet planes_with_room);
  bool poll_data(Instant now, TxBurst* out, PlaneSet planes_with_room);
  bool poll_answers(Instant now, TxBurst* out, PlaneSet planes_with_room);
  bool answers_come_first() const;
  bool nothing_waits() const;
  void count(const TxBurst& burst);

  EngineContext& engine_;
  ControlQueue& control_;
  DatagramTable* datagrams_ = nullptr;  // absent: none are sent
  QpList<&QpContext::ready> ready_;
  QpList<&QpContext::acks_pending> acks_pending_;
  uint32_t data_before_answers_ = 0;  // bursts of data sent before pending answers
  bool datagrams_first_ = false;      // the last burst was one of a reliable QP
};

}  // namespace mrc::core
