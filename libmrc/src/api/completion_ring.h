// The completions of one shard in a completion queue: a ring under a mutex of its own, so that shards that share a
// queue do not wait for each other. The device pushes while it holds its lock; polling takes only this mutex. Nothing
// allocates on either side. Lock order: device, then ring, then channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "api/public.h"
#include "mutex.h"
#include "send_slots.h"

namespace mrc::api {

class alignas(64) CompletionRing {  // rings of different shards share no cache line
 public:
  // Makes room for at least cqe completions, where there is no ring yet. Throws std::bad_alloc.
  void open(int cqe) ABSL_LOCKS_EXCLUDED(mutex_);
  // Resizing, in steps, so that either all rings of a queue are changed or none is. The room is a ring for at least cqe
  // completions, made beforehand (throws std::bad_alloc); the rest is done with all rings of the queue locked.
  struct Entry;
  struct Room {
    explicit Room(int cqe);
    uint32_t mask;
    std::unique_ptr<Entry[]> ring;
  };
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.unlock(); }
  bool is_open() ABSL_LOCKS_EXCLUDED(mutex_);
  bool fits(const Room& room) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return tail_ - head_ <= room.mask + 1; }
  void move_to(Room* room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // which gets the old ring

  // False when the ring is full: the completion is lost.
  bool push(const ibv_wc& wc, SendSlots* owner, uint32_t slots) ABSL_LOCKS_EXCLUDED(mutex_);
  int take(int max, ibv_wc* out) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the completions of a QP.
  void purge(const SendSlots* owner) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when every push that had begun has ended; later ones see what was written before this call.
  void await_pushes() ABSL_LOCKS_EXCLUDED(mutex_) { const MutexLock lock(mutex_); }

  std::atomic<int> users{0};  // QPs; once per direction

 private:
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  uint32_t mask_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Entry[]> ring_ ABSL_GUARDED_BY(mutex_);
  uint64_t head_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t tail_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint32_t> count_{0};  // written under the mutex; read without it to skip an empty ring
};

struct CompletionRing::Entry {
  ibv_wc wc;
  SendSlots* owner;  // of the QP, which it identifies
  uint32_t slots;
};

}  // namespace mrc::api
