// Deadlines of many objects. Each object embeds a TimerNode; set() moves its deadline, and moving it later is
// free: the heap keeps the earlier entry and corrects it when it reaches the top. QPs re-arm on every burst, so
// this matters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "invariant.h"

namespace mrc::core {

class Qp;
struct Peer;

struct TimerNode {
  Instant deadline = Instant::never();  // the owner's deadline
  Instant key = Instant::never();       // its key in the heap, never later than deadline
  uint32_t position = UINT32_MAX;       // in the heap; UINT32_MAX: not there
  // The owner, one of both; neither: a part of the engine, which compares the node with its own.
  Qp* qp = nullptr;
  Peer* peer = nullptr;
};

class TimerHeap {
 public:
  void set(TimerNode* n, Instant deadline) {
    n->deadline = deadline;
    if (deadline >= Instant::never()) return;
    if (n->position == UINT32_MAX) {
      heap_.push_back(n);
      n->key = deadline;
      n->position = static_cast<uint32_t>(heap_.size() - 1);
      up(n->position);
    } else if (deadline < n->key) {
      n->key = deadline;
      up(n->position);
    }
  }
  void remove(TimerNode* n) {
    n->deadline = Instant::never();
    if (n->position == UINT32_MAX) return;
    take(n->position);
  }
  // The earliest deadline; drops and re-sorts stale entries on the way.
  Instant next() {
    settle();
    return heap_.empty() ? Instant::never() : heap_[0]->key;
  }
  // A node whose deadline has passed, disarmed; null when none.
  TimerNode* pop_due(Instant now) {
    settle();
    if (heap_.empty() || heap_[0]->key > now) return nullptr;
    TimerNode* n = heap_[0];
    take(0);
    n->deadline = Instant::never();
    return n;
  }
  // `n` more nodes may be armed at once from now on: makes room for them, so that set() never allocates.
  void expect(size_t n) {
    const size_t all = expected_ + n;
    if (all > heap_.capacity()) heap_.reserve(std::max(all, 2 * heap_.capacity()));
    expected_ = all;
  }

  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(heap_.size() <= expected_);
    for (size_t i = 0; i < heap_.size(); ++i) {
      MRC_INVARIANT(heap_[i]->position == i);
      MRC_INVARIANT(heap_[i]->key <= heap_[i]->deadline);
      MRC_INVARIANT(i == 0 || heap_[(i - 1) / 2]->key <= heap_[i]->key);
    }
  }

 private:
  void settle() {
    while (!heap_.empty() && heap_[0]->deadline > heap_[0]->key) {
      TimerNode* n = heap_[0];
      if (n->deadline >= Instant::never()) {
        take(0);
      } else {
        n->key = n->deadline;
        down(0);
      }
    }
  }
  void take(uint32_t i) {
    TimerNode* n = heap_[i];
    n->position = UINT32_MAX;
    TimerNode* last = heap_.back();
    heap_.pop_back();
    if (last == n) return;
    heap_[i] = last;
    last->position = i;
    up(i);
    down(last->position);
  }
  void up(uint32_t i) {
    while (i > 0) {
      const uint32_t parent = (i - 1) / 2;
      if (heap_[parent]->key <= heap_[i]->key) break;
      exchange(i, parent);
      i = parent;
    }
  }
  void down(uint32_t i) {
    for (;;) {
      uint32_t smallest = i;
      for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap_.size(); ++child)
        if (heap_[child]->key < heap_[smallest]->key) smallest = child;
      if (smallest == i) return;
      exchange(i, smallest);
      i = smallest;
    }
  }
  void exchange(uint32_t a, uint32_t b) {
    TimerNode* t = heap_[a];
    heap_[a] = heap_[b];
    heap_[b] = t;
    heap_[a]->position = a;
    heap_[b]->position = b;
  }
  std::vector<TimerNode*> heap_;
  size_t expected_ = 0;
};

}  // namespace mrc::core
