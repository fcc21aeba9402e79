#include "core/qp_table.h"

#include <cassert>
#include <memory>

#include "core/tx_scheduler.h"
#include "invariant.h"

namespace mrc::core {

void QpTable::clear() {
  for_each([this](Qp* qp) { destroy(qp); });
}

Qp* QpTable::create(const QpServices& services, const QpInit& init) {
  assert(init.sink != nullptr);
  if (slots_.empty()) slots_.resize(1u << 16);
  uint16_t& slot = slots_[init.qpn.value() & 0xFFFF];
  const uint32_t i = slot != 0 ? slot - 1u : static_cast<uint32_t>(qps_.size());
  if (i >= UINT16_MAX || live_ >= engine_.config.max_qps) return nullptr;
  if (slot == 0) {
    engine_.timers.expect(1);
    tombstones_.resize(i + 1);
    qps_.resize(i + 1);
    slot = static_cast<uint16_t>(i + 1);
  }
  if (qps_[i] != nullptr) return nullptr;
  auto qp = std::make_unique<Qp>(services, init);
  tombstones_.put(i, Tombstone());
  ++live_;
  return qps_[i] = qp.release();
}

void QpTable::destroy(Qp* qp) {
  const Responder& responder = qp->responder;
  if (qp->peer != nullptr && responder.rx_packets() > 0) {
    Tombstone t;
    t.last = responder.transport_ack(responder.faulted());
    t.peer = qp->peer->id;
    t.last_request = responder.last_request();
    tombstones_.put(slot_of(qp->qpn), t);
  }
  qp->reset();
  set_peer(qp, kNoPeer);
  qps_[slot_of(qp->qpn)] = nullptr;
  --live_;
  delete qp;
}

void QpTable::set_peer(Qp* qp, PeerId id) {
  Peer* const next = peers_.find(id);
  if (next != nullptr) peers_.add_reference(next);
  if (qp->peer != nullptr) peers_.release(qp->peer->id);
  qp->peer = next;
}

void QpTable::wake_senders() {
  for_each([](Qp* qp) {
    if (qp->state == QpState::kRts && !qp->requester.idle()) qp->make_ready();
  });
}

void QpTable::check() const {
  uint32_t live = 0;
  const Peer* seen = nullptr;
  for_each([&](const Qp* qp) {
    ++live;
    MRC_INVARIANT(find(qp->qpn) == qp);
    MRC_INVARIANT(qp->peer == nullptr || peers_.find(qp->peer->id) == qp->peer);
    // Every due event towards its peer has a timer. Its time is computed over each of the peer's EVs.
    MRC_INVARIANT(!qp->receiving() || qp->peer == seen || qp->peer->timer.deadline <= qp->peer->next_time());
    if (qp->receiving()) seen = qp->peer;
    qp->check();
  });
  MRC_INVARIANT(live == live_);
  peers_.for_each([&](const Peer* p) {
    uint32_t qps = 0, senders = 0;
    for_each([&](const Qp* qp) {
      qps += qp->peer == p;
      senders += qp->peer == p && qp->requester.sending();
    });
    MRC_INVARIANT(p->senders == senders);
    MRC_INVARIANT(p->refs.tombstones == tombstones_.count(p->id));
    MRC_INVARIANT(p->refs.all >= p->refs.tombstones + qps);
  });
}

}  // namespace mrc::core
