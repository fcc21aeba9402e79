// TraceFile: the engine's trace events of one device as a file of JSON text sequences (RFC 7464) in the shape of qlog:
// one header record, then one record per event, as spec/trace.md says. mrclog reads it.
//
// The engine adds to a ring and never waits. A thread of its own drains the ring every few milliseconds. The number of
// events that found no room is in the file, where they are missing. Events come from whichever thread drives the
// engine, one at a time (the device's mutex).
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "core/trace.h"
#include "device/trace_ring.h"
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

  void on_trace(const core::TraceEntry& entry) override { ring_.add(entry); }

  // The writing thread; without it, events are written by drain() alone. False when the host has no thread to give.
  [[nodiscard]] bool start();
  void finish();  // writes what is left and ends the thread; events after it are not written
  void drain();   // one thread at a time
  const std::string& path() const { return path_; }
  uint64_t lost() const { return ring_.lost(); }

  static constexpr size_t kRingEntries = 1 << 16;

 private:
  TraceFile(Fd fd, std::string path, size_t ring_entries);
  void run();
  void write_rest();
  bool write_all(const char* data, size_t size);
  void write_header(const About& about);
  char* write_lost(char* out, uint64_t count);

  const Fd fd_;
  const std::string path_;
  const std::unique_ptr<char[]> text_;
  TraceRing ring_;
  // Of the thread that drains.
  uint64_t lost_reported_ = 0;  // the number of lost ones reported in the file
  Instant last_at_;             // of the last event that was written
  bool failed_ = false;         // nothing more is written

  Mutex mutex_;
  CondVar wake_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace mrc::device
