// DaemonLink: the connection of a device to mrcd, the daemon that keeps the state shared by the processes of this host
// (spec/mrcd.md). Lines of JSON over a Unix socket. Without a daemon, and after its end, the state is unchanged;
// the link retries once a second. The process that serves the socket must run as root or as this user.
//
// Threads: open() and wait_for_message() before there is a helper thread, serve() on it; request() and post() on any.
// The listener is called without the link's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/line_reader.h"
#include "base/time.h"
#include "device/pending_answers.h"
#include "fd.h"
#include "mutex.h"

namespace mrc::device {

class LinkListener {
 public:
  virtual nlohmann::json registration() = 0;  // the first line of every connection
  virtual void on_connected() = 0;            // after it: changes since it was made have not been posted
  virtual void on_message(const nlohmann::json& message) = 0;
  virtual void on_daemon_absent() = 0;  // the daemon has been gone for some seconds

 protected:
  ~LinkListener() = default;
};

class DaemonLink {
 public:
  DaemonLink() = default;
  ~DaemonLink() { close(); }
  DaemonLink(const DaemonLink&) = delete;
  DaemonLink& operator=(const DaemonLink&) = delete;

  // `socket`: a path, or @NAME in the abstract namespace of this network namespace. False: errno; a missing daemon
  // is no failure.
  [[nodiscard]] bool open(const std::string& socket, LinkListener* listener);
  void close() ABSL_LOCKS_EXCLUDED(mutex_);
  // In a child after fork: the connection is the parent's. Takes no lock: the thread that held it at the fork does not
  // exist in the child, and no other thread does.
  void abandon() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  int fd() const { return epoll_.get(); }  // readable when serve() has work; -1: not open
  void serve() ABSL_LOCKS_EXCLUDED(mutex_);
  bool connected() const { return connected_.load(); }
  // Has been connected at least once.
  bool was_connected() const { return was_connected_.load(); }
  // Serves until the listener was called, for a bounded time.
  void wait_for_message(Duration max) ABSL_LOCKS_EXCLUDED(mutex_);

  // Adds an id, sends, waits for the daemon's answer: 0 or an errno value; EIO when none arrives in time. Not on the
  // helper thread, and with no lock of the device held.
  [[nodiscard]] int request(nlohmann::json message) ABSL_LOCKS_EXCLUDED(mutex_);
  // Dropped when there is no daemon.
  void post(const nlohmann::json& message) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool connect() ABSL_LOCKS_EXCLUDED(mutex_);
  void disconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void give_up() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void queue(const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool read_some(int fd) ABSL_LOCKS_EXCLUDED(mutex_);
  void take_lines() ABSL_LOCKS_EXCLUDED(mutex_);
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::string socket_;
  LinkListener* listener_ = nullptr;
  Fd epoll_;
  Fd timer_;
  Mutex mutex_;
  CondVar answered_;
  Fd fd_ ABSL_GUARDED_BY(mutex_);  // changed by serve() alone
  std::string out_ ABSL_GUARDED_BY(mutex_);
  bool waits_for_room_ ABSL_GUARDED_BY(mutex_) = false;  // the epoll set reports room for `out_`
  PendingAnswers requests_ ABSL_GUARDED_BY(mutex_);
  LineReader in_;  // serve() alone
  uint64_t messages_ = 0;
  int seconds_absent_ = 0;
  std::atomic<bool> connected_{false};
  std::atomic<bool> was_connected_{false};
};

}  // namespace mrc::device
