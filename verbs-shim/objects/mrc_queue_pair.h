// MrcQp: the queue pair of MRC behind one of verbs, with its own states. They are not those of verbs: MRC's queue pair
// may send before the application's is in RTS, since confirmations are packets of its own [VRB-QP-3], and enters the
// error state later, when the last message has gone out.
//
// Not synchronised: the lock is that of the queue pair of verbs.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <utility>

#include "provider/provider.h"

namespace mrc::shim {

class MrcQp {
 public:
  explicit MrcQp(const Provider& api) : api_(&api) {}
  ~MrcQp() { destroy(); }
  MrcQp& operator=(MrcQp&& other) noexcept {
    destroy();
    qp_ = std::exchange(other.qp_, nullptr);
    number_ = other.number_;
    packet_timeout_ = other.packet_timeout_;
    state_ = other.state_;
    return *this;
  }

  [[nodiscard]] bool create(mrc_context* context, mrc_qp_init_attr* init);  // false and errno
  // The peer writes messages to `memory`; their completions have the wr_id. False and errno.
  [[nodiscard]] bool set_mailbox(uint8_t* memory, uint32_t bytes, uint64_t wr_id);
  // So many messages to the mailbox since the last reset are answered. [MRC-MBX-2]
  void mailbox_answered(uint32_t count) { api_->mrc_soft_mailbox_answered(qp_, count); }
  void destroy();

  uint32_t number() const { return number_; }
  uint8_t packet_timeout() const { return packet_timeout_; }  // as it was made
  bool operational() const { return state_ == State::kReceives || state_ == State::kSends; }
  bool sends() const { return state_ == State::kSends; }

  // The application's attributes, and MRC's own; what MRC takes no part in must be masked out. 0, or an errno value.
  // The functions below state what followed from it.
  int modify(const ibv_qp_attr& attr, int mask, mrc_qp_attr* own, int own_mask);
  void reset_done() { state_ = State::kReset; }
  void init_done() { state_ = State::kReceives; }
  void rts_done() { state_ = State::kSends; }

  // From RTR to RTS, with that packet number first. Without an effect if MRC refuses.
  void start_sending(uint32_t psn);
  void enter_error_state();

  int post(ibv_send_wr* list, ibv_send_wr** bad) { return api_->mrc_post_send(qp_, list, bad); }
  // Posts receive requests without memory, for WRITEs with immediate. Returns how many MRC had no memory for.
  uint32_t post_receives(uint32_t count, uint64_t wr_id);

 private:
  enum class State : uint8_t { kReset, kReceives, kSends, kError };

  const Provider* const api_;
  mrc_qp* qp_ = nullptr;
  uint32_t number_ = 0;
  uint8_t packet_timeout_ = 0;
  State state_ = State::kReset;
};

}  // namespace mrc::shim
