// QpTable: the QPs of one endpoint by QP number. A number, by its low 16 bits, gets a slot when it is used first and
// keeps it: numbers are scattered, and the storage per QP is not.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/engine_context.h"
#include "core/peer_table.h"
#include "core/qp.h"
#include "core/tombstones.h"

namespace mrc::core {

class QpTable {
 public:
  QpTable(EngineContext* engine, PeerTable* peers, Tombstones* tombstones)
      : engine_(*engine), peers_(*peers), tombstones_(*tombstones) {}
  ~QpTable() { clear(); }
  QpTable(const QpTable&) = delete;
  QpTable& operator=(const QpTable&) = delete;

  // Null when the QPN is taken or the limit is reached. `services` outlives the QP.
  Qp* create(const QpServices& services, const QpInit& init);
  // A QP that has received leaves a tombstone.
  void destroy(Qp* qp);
  void clear();  // destroys all
  // Exchanges the peer of a QP, and the references; kNoPeer: none.
  void set_peer(Qp* qp, PeerId id);

  Qp* find(Qpn qpn) const {
    const uint32_t i = slot_of(qpn);
    Qp* const qp = i < qps_.size() ? qps_[i] : nullptr;
    return qp != nullptr && qp->qpn == qpn ? qp : nullptr;
  }
  // UINT32_MAX: the number was never used.
  uint32_t slot_of(Qpn qpn) const {
    const uint32_t i = qpn.value() & 0xFFFF;
    return i < slots_.size() ? slots_[i] - 1u : UINT32_MAX;
  }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (Qp* qp : qps_)
      if (qp != nullptr) visit(qp);
  }
  // QPs with data to send may have a path again.
  void wake_senders();
  uint32_t count() const { return live_; }
  void check() const;

 private:
  EngineContext& engine_;
  PeerTable& peers_;
  Tombstones& tombstones_;
  std::vector<uint16_t> slots_;  // slot + 1 by the low 16 bits of the number; 0: none
  std::vector<Qp*> qps_;         // by slot
  uint32_t live_ = 0;
};

}  // namespace mrc::core
