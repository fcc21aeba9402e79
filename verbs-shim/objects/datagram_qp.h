// Datagram queue pair (UD): one of libmrc's, whose completions are passed on with the application's request numbers.
// [VRB-UD-1..6]
//
// The requests of a shared receive queue have the application's numbers in libmrc, since they do not know yet which
// queue pair takes them; their completions are found by the number of the queue pair.
//
// Everything is under the queue pair's lock but release_slots().
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <memory>
#include <set>

#include "objects/base_qp.h"
#include "objects/completion_queue.h"
#include "objects/memory.h"
#include "objects/receive_queue.h"
#include "send_slots.h"

namespace mrc::shim {

class DatagramQp final : public BaseQp {
 public:
  // Null and errno. Writes the sizes that the queue pair has into init->cap.
  static BaseQp* create(Context* context, ibv_qp_init_attr_ex* init);

  int post_send(ibv_send_wr* wr, ibv_send_wr** bad) override ABSL_LOCKS_EXCLUDED(mutex_);
  int post_all(ibv_send_wr* wr) override ABSL_LOCKS_EXCLUDED(mutex_);
  int post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad) override ABSL_LOCKS_EXCLUDED(mutex_);
  int modify(const ibv_qp_attr& attr, int mask) override ABSL_LOCKS_EXCLUDED(mutex_);
  int destroy() override;  // EBUSY while it is attached to a group
  int attach_mcast(const union ibv_gid& gid) override ABSL_LOCKS_EXCLUDED(mutex_);
  int detach_mcast(const union ibv_gid& gid) override ABSL_LOCKS_EXCLUDED(mutex_);
  void release_slots(uint32_t n) override { slots_.release(n); }

  void dispatch(const ibv_wc& wc) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void end() override ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.unlock(); }
  void serve() override {}
  void tick(uint64_t) override {}
  uint64_t deadline() override { return UINT64_MAX; }
  bool keep_alive() override { return false; }
  bool settled() override { return true; }

 private:
  // The application's numbers of requests that libmrc has, by their index, which is in libmrc's numbers.
  class Numbers {
   public:
    explicit Numbers(uint32_t max) : max_(max), ids_(new uint64_t[max]) {}
    bool full() const { return next_ - done_ == max_; }
    uint32_t put(uint64_t wr_id) {
      ids_[next_ % max_] = wr_id;
      return next_++;
    }
    void take_back() { --next_; }
    // Requests complete in order. `covered`: how many are complete by it, those without a completion of their own too.
    uint64_t take(uint32_t index, uint32_t* covered) {
      *covered = index + 1 - done_;
      done_ = index + 1;
      return ids_[index % max_];
    }
    void clear() { done_ = next_; }

   private:
    const uint32_t max_;  // a power of two: indices wrap
    const std::unique_ptr<uint64_t[]> ids_;
    uint32_t next_ = 0, done_ = 0;
  };

  DatagramQp(Context* context, const ibv_qp_init_attr_ex& init);
  ~DatagramQp() override;
  bool make();
  // Without those of a shared receive queue, which has room of its own.
  uint32_t completions() const { return init_.cap.max_send_wr + (srq_ != nullptr ? 0 : init_.cap.max_recv_wr) + 2; }
  // Takes the completions that are left in libmrc, so that their requests are free in the shared receive queue. The
  // queue pair gets no others.
  void return_shared_receives() ABSL_EXCLUSIVE_LOCKS_REQUIRED(context_->pump_mutex()) ABSL_LOCKS_EXCLUDED(mutex_);
  int post_one(const ibv_send_wr& wr) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t tagged(uint32_t index) const { return static_cast<uint64_t>(id_) << 32 | index; }
  void push(Cq* cq, const ibv_wc& wc, uint32_t slots, bool solicited) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  uint32_t mtu_ = 0;
  uint32_t id_ = UINT32_MAX;
  struct mrc_soft_ud_qp* mrc_ = nullptr;
  Numbers sends_ ABSL_GUARDED_BY(mutex_);
  Numbers receives_ ABSL_GUARDED_BY(mutex_);
  std::set<std::array<uint8_t, 16>> groups_ ABSL_GUARDED_BY(mutex_);  // that it is attached to
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;                       // completions are not the application's any more
  SendSlots slots_;
};

}  // namespace mrc::shim
