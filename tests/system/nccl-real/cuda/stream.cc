#include "cuda/stream.h"

#include <pthread.h>

#include <atomic>
#include <chrono>

namespace mrc::nccl_rig::cuda {

namespace {

std::atomic<long> live = 0;

}  // namespace

long live_streams() {
  return live.load();
}

uint64_t Event::next_generation() {
  std::lock_guard lock(mutex_);
  return ++recorded_;
}

uint64_t Event::recorded() const {
  std::lock_guard lock(mutex_);
  return recorded_;
}

void Event::reached(uint64_t generation) {
  std::lock_guard lock(mutex_);
  if (generation > reached_) reached_ = generation;
  at_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  changed_.notify_all();
}

bool Event::is_reached(uint64_t generation) const {
  std::lock_guard lock(mutex_);
  return reached_ >= generation;
}

void Event::wait(uint64_t generation) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= generation; });
}

double Event::reached_at_s() const {
  std::lock_guard lock(mutex_);
  return at_s_;
}

Stream::Stream() : thread_([this] { run(); }) {
  ++live;
}

Stream::~Stream() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
  --live;
}

void Stream::queue(std::function<void()> operation) {
  std::lock_guard lock(mutex_);
  operations_.push_back(std::move(operation));
  changed_.notify_all();
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return operations_.empty() && !busy_; });
}

bool Stream::synchronize_for(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return operations_.empty() && !busy_; });
}

bool Stream::idle() const {
  std::lock_guard lock(mutex_);
  return operations_.empty() && !busy_;
}

void Stream::run() {
  pthread_setname_np(pthread_self(), "rig stream");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !operations_.empty() || ending_; });
    if (operations_.empty()) return;
    auto operation = std::move(operations_.front());
    operations_.pop_front();
    busy_ = true;
    lock.unlock();
    operation();
    operation = nullptr;
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

Stream& stream_of(void* handle) {
  static auto* standard = new Stream;  // outlives NCCL's own destructors
  return reinterpret_cast<uintptr_t>(handle) <= 2 ? *standard : *static_cast<Stream*>(handle);
}

std::shared_ptr<Event> event_of(void* handle) {
  return *static_cast<std::shared_ptr<Event>*>(handle);
}

void record(void* event, void* stream) {
  auto e = event_of(event);
  const uint64_t generation = e->next_generation();
  stream_of(stream).queue([e, generation] { e->reached(generation); });
}

}  // namespace mrc::nccl_rig::cuda
