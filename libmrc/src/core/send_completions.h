// SendCompletions: the completions of a QP's send requests. A request that succeeded and is not signaled has none of
// its own; the next completion frees its slot of the send queue (spec/clients.md rule 12).
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "core/send_queue.h"
#include "core/types.h"
#include "invariant.h"

namespace mrc::core {

class SendCompletions {
 public:
  // `w` is finished. Nothing: no completion is due.
  std::optional<Completion> on_finished(const Wqe& w, WcStatus status, Qpn qpn) {
    ++slots_;
    if (status == WcStatus::kSuccess && !w.signaled) return std::nullopt;
    Completion done;
    done.wr_id = w.wr_id;
    done.status = status;
    done.qpn = qpn;
    done.byte_len = w.length;
    done.with_imm = w.with_imm;
    done.slots = slots_;
    slots_ = 0;
    return done;
  }
  // A completion could not be delivered: the CQ is full.
  void on_undelivered() { undelivered_ = true; }
  bool undelivered() const { return undelivered_; }
  void reset() { *this = SendCompletions(); }
  // A QP that has lost a completion has ended [MRC-ACK-5].
  void check(bool ended) const { MRC_INVARIANT(!undelivered_ || ended); }

 private:
  uint32_t slots_ = 0;  // of the send queue, finished since the last completion
  bool undelivered_ = false;
};

}  // namespace mrc::core
