// Streams and events with CUDA's ordering: a stream runs its operations one after the other on a thread of its own; an
// event is a point in a stream; waiting for one means the point that was recorded last at the time of the call.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace mrc::nccl_rig::cuda {

// Reference-counted by shared_ptr: destroyed by the user while streams may still wait for it.
class Event {
 public:
  uint64_t next_generation();  // recorded, not reached
  uint64_t recorded() const;
  void reached(uint64_t generation);
  bool is_reached(uint64_t generation) const;
  void wait(uint64_t generation) const;
  double reached_at_s() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t recorded_ = 0, reached_ = 0;
  double at_s_ = 0;
};

class Stream {
 public:
  Stream();
  ~Stream();  // runs what is queued first
  void queue(std::function<void()> operation);
  void synchronize();
  bool synchronize_for(double seconds);  // false: not yet
  bool idle() const;

 private:
  void run();
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> operations_;
  bool busy_ = false, ending_ = false;
  std::thread thread_;
};

// Streams that are not destroyed: each is a thread.
long live_streams();
// Handles as the interface has them. nullptr and the special handles 1 and 2 are the default stream.
Stream& stream_of(void* handle);
std::shared_ptr<Event> event_of(void* handle);
void record(void* event, void* stream);

}  // namespace mrc::nccl_rig::cuda
