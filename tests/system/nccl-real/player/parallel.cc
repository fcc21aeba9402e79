#include "player/parallel.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "player/wait.h"

namespace mrc::nccl_rig::player {

namespace {

// Grows to what is needed at once: a task that waits for a peer must not keep another from running.
class Pool {
 public:
  void add(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (tasks_.size() > idle_) {
      ++idle_;
      std::thread([this] { run(); }).detach();
    }
    added_.notify_one();
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "rig kernel");
    std::unique_lock lock(mutex_);
    for (;;) {
      added_.wait(lock, [&] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      --idle_;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      ++idle_;
    }
  }
  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::function<void()>> tasks_;
  size_t idle_ = 0;  // threads that wait, or are about to
};

Pool& pool() {
  static auto* threads = new Pool;  // never destroyed: its threads run until the process ends
  return *threads;
}

}  // namespace

void run_parallel(const std::vector<std::function<void()>>& tasks) {
  std::mutex mutex;
  std::condition_variable ended;
  size_t left = tasks.size();
  bool aborted = false;
  const auto run_one = [&](const std::function<void()>& task) {
    bool thrown = false;
    try {
      task();
    } catch (const Aborted&) {
      thrown = true;
    }
    std::lock_guard lock(mutex);
    aborted |= thrown;
    if (--left == 0) ended.notify_all();
  };
  for (size_t i = 1; i < tasks.size(); ++i) pool().add([&run_one, &task = tasks[i]] { run_one(task); });
  if (!tasks.empty()) run_one(tasks[0]);
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return left == 0; });
  if (aborted) throw Aborted{};
}

}  // namespace mrc::nccl_rig::player
