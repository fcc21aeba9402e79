// Code that tools/dev/thread-safety must refuse, so that its result for the tree is meaningful: each marked line,
// and no other, is an error to clang's analysis of the annotations in mutex.h and device_lock.h.
#include "device/device_lock.h"
#include "mutex.h"

namespace {

class Account {
 public:
  int locked() {
    const mrc::MutexLock lock(mutex_);
    return balance_;
  }
  int unlocked() {
    return balance_;  // refused
  }
  int after_the_lock() {
    { const mrc::MutexLock lock(mutex_); }
    return balance_;  // refused
  }
  void twice() {
    const mrc::MutexLock lock(mutex_);
    const mrc::MutexLock again(mutex_);  // refused
  }
  void never_given_back() { mutex_.lock(); }  // refused
  bool perhaps() {
    if (!mutex_.try_lock()) return balance_ > 0;  // refused
    const mrc::MutexLock lock(mutex_, std::adopt_lock);
    return balance_ > 0;
  }
  void wait_for_money() {
    const mrc::MutexLock lock(mutex_);
    while (balance_ == 0) paid_.wait(mutex_);
  }
  void wait_unlocked() {
    paid_.wait(mutex_);  // refused
  }
  void add_locked(int amount) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { balance_ += amount; }
  void add_without(int amount) {
    add_locked(amount);  // refused
  }
  void add(int amount) ABSL_LOCKS_EXCLUDED(mutex_) {
    const mrc::MutexLock lock(mutex_);
    add_locked(amount);
  }
  void add_from_within(int amount) {
    const mrc::MutexLock lock(mutex_);
    add(amount);  // refused
  }

 private:
  mrc::Mutex mutex_;
  mrc::CondVar paid_;
  int balance_ ABSL_GUARDED_BY(mutex_) = 0;
};

class Shelf {
 public:
  int read() {
    const mrc::ReaderLock lock(mutex_);
    return books_;
  }
  void write_as_reader() {
    const mrc::ReaderLock lock(mutex_);
    ++books_;  // refused
  }
  void write() {
    const mrc::WriterLock lock(mutex_);
    ++books_;
  }

 private:
  mrc::SharedMutex mutex_;
  int books_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The locks of all devices are one to the analysis.
class Engine {
 public:
  void move_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) { ++moved_; }
  void move() {
    const mrc::device::DeviceLock lock(mutex);
    move_locked();
  }
  void move_unlocked() {
    move_locked();  // refused
  }
  void move_if_free() {
    if (!mutex.try_lock()) return;
    const mrc::device::DeviceLock lock(mutex, std::adopt_lock);
    move_locked();
  }
  mrc::device::DeviceMutex mutex;

 private:
  int moved_ ABSL_GUARDED_BY(mrc::device::device_lock) = 0;
};

}  // namespace
