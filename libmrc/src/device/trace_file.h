// TraceFile: the engine's trace events of one device as a file of JSON text sequences (RFC 7464) in the shape of qlog:
// one header record, then one record per event, as spec/trace.md says. mrclog reads it.
//
// The engine writes into a ring of fixed size and never waits: no allocation, no lock, no system call. A thread of its
// own drains the ring every few milliseconds. When the ring is full, events are lost and counted, and the file has
// their many and where. Events come from whichever thread drives the engine, one at a time (the device's mutex).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "core/trace.h"
#include "fd.h"
#include "mutex.h"
#include "result.h"

namespace mrc::device {

class TraceFile final : public core::TraceSink {
 public:
  // What the header record has of the process.
  struct About {
    std::string device;
    std::string details;  // JSON object of the settings that are not the default, "{}" without
  };

  // `name` may hold %p for the process number and %d for the device; a folder gets the file mrc-%p-%d.sqlog. A file
  // that another process is writing to is left alone: ".2", ".3" ... is put behind the name. EINVAL when it
  // cannot be.
  static Result<std::unique_ptr<TraceFile>> open(const std::string& name, const About& about,
                                                 size_t ring_entries = kRingEntries);
  ~TraceFile() override { finish(); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void on_trace(const core::TraceEntry& entry) override {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - producer_.tail_seen > mask_) {
      producer_.tail_seen = tail_.load(std::memory_order_acquire);
      if (head - producer_.tail_seen > mask_) {
        lost_.fetch_add(1, std::memory_order_relaxed);
        ++producer_.lost_since;
        return;
      }
    }
    ring_[head & mask_] = {entry, producer_.lost_since};
    producer_.lost_since = 0;
    head_.store(head + 1, std::memory_order_release);
  }

  // The writing thread; without it, events are written by drain() alone. False when the host has no thread to give.
  [[nodiscard]] bool start();
  void finish();  // writes what is left and ends the thread; events after it are not written
  void drain();   // one thread at a time
  const std::string& path() const { return path_; }
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

  static constexpr size_t kRingEntries = 1 << 16;

 private:
  struct Slot {
    core::TraceEntry entry;
    uint64_t lost_before = 0;  // events that found no room between the entry before and this one
  };

  TraceFile(Fd fd, std::string path, size_t entries);
  void run();
  void write_rest();
  bool write_all(const char* data, size_t size);
  void write_header(const About& about);
  char* write_lost(char* out, uint64_t count);

  const Fd fd_;
  const std::string path_;
  const uint64_t mask_;
  const std::unique_ptr<Slot[]> ring_;
  const std::unique_ptr<char[]> text_;
  struct {
    uint64_t tail_seen = 0;   // its copy of tail_
    uint64_t lost_since = 0;  // since the last event that was kept
  } producer_;
  struct {
    uint64_t lost_reported = 0;  // the number of lost ones reported in the file
    Instant last_at;             // of the last event that was written
    bool failed = false;         // nothing more is written
  } consumer_;
  alignas(64) std::atomic<uint64_t> head_{0};
  std::atomic<uint64_t> lost_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};

  Mutex mutex_;
  CondVar wake_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace mrc::device
