// ApplicationActivity: what the application's threads do that makes progress, or makes it necessary. The progress
// thread goes by it. Any thread. [VRB-PRG-1]
#pragma once

#include <atomic>
#include <cstdint>

#include "thread_mark.h"

namespace mrc::shim {

class ApplicationActivity {
 public:
  // Calls that make progress: the progress thread leaves it to them while there are some.
  void count_poll() { polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  uint64_t polls() const { return polls_.load(std::memory_order_relaxed); }
  // A completion queue is armed, for the first time or again.
  void note_arm() { polls_at_arm_.store(polls(), std::memory_order_relaxed); }
  // A thread has polled on and on since then, and often since `seen` polls, when the progress thread parked last: it
  // finds what arrives for the armed queue and raises its event. If it stops, the progress thread is back after two
  // parks. So UCX does, which arms the queue of its wire-up for good. A program that waits at a descriptor polls a few
  // times between arming and waiting.
  bool spins_beside_armed(uint64_t seen) const {
    return polls() - polls_at_arm_.load(std::memory_order_relaxed) > kManyPolls && polls() - seen >= kOften;
  }

  // Completion queues that are armed: a program may be waiting at the descriptor of a channel.
  void count_armed(int by) { armed_.fetch_add(by); }
  bool armed() const { return armed_.load() > 0; }

  // A thread sleeps in ibv_get_cq_event, pumps itself, and takes the events of the MRC completion queue.
  void begin_wait() {
    last_sleeper_.store(environment::thread_mark());
    sleepers_.fetch_add(1);
    waits_.fetch_add(1);
  }
  void end_wait() { sleepers_.fetch_sub(1); }
  int sleepers() const { return sleepers_.load(); }
  uint64_t waits() const { return waits_.load(); }                                        // that have begun
  bool slept_last() const { return last_sleeper_.load() == environment::thread_mark(); }  // this thread, of all

 private:
  static constexpr uint64_t kManyPolls = 1024;  // a thread that spins needs about a millisecond for them
  static constexpr uint64_t kOften = 32;

  std::atomic<uint64_t> polls_{0};
  std::atomic<uint64_t> polls_at_arm_{0};
  std::atomic<int> armed_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<uint64_t> waits_{0};
  std::atomic<const void*> last_sleeper_{nullptr};
};

}  // namespace mrc::shim
