#include "device/trace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/trace_text.h"
#include "device/clock.h"
#include "device/log.h"
#include "device/signals.h"
#include "uncancelled.h"

namespace mrc::device {

namespace {

constexpr std::chrono::milliseconds kPause{5};  // 65536 entries last that long at 13 M events a second
constexpr size_t kTextRoom = 256 * 1024;
constexpr int kMaxCopies = 4096;
constexpr char kRecordSeparator = '\x1e';

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::string path_of(const std::string& name, const std::string& device) {
  struct stat s {};
  const bool folder = name.back() == '/' || (::stat(name.c_str(), &s) == 0 && S_ISDIR(s.st_mode));
  std::string safe = device;
  for (char& c : safe)
    if (c == '/') c = '_';
  return replaced(replaced(folder ? name + "/mrc-%p-%d.sqlog" : name, "%p", std::to_string(::getpid())), "%d", safe);
}

// The file, empty and locked by us; none with errno, ENXIO for what is no regular file: the reader of a pipe would
// control when events are written, and a pipe without a reader does not open.
Fd open_locked(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!fd) return fd;
  struct stat s {};
  const bool regular = ::fstat(fd.get(), &s) == 0 && S_ISREG(s.st_mode);
  if (regular && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && ::ftruncate(fd.get(), 0) == 0) return fd;
  const int why = regular ? errno : ENXIO;
  fd = Fd();
  errno = why;
  return fd;
}

std::string wall_clock() {
  const time_t now = ::time(nullptr);
  tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  return std::string(text, ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc));
}

}  // namespace

Result<std::unique_ptr<TraceFile>> TraceFile::open(const std::string& name, const About& about, size_t ring_entries) {
  const std::string wanted = path_of(name, about.device);
  std::string path = wanted;
  Fd fd = open_locked(path);
  for (int copy = 2; !fd && errno == EWOULDBLOCK && copy < kMaxCopies; ++copy) {
    path = wanted + "." + std::to_string(copy);
    fd = open_locked(path);
  }
  if (!fd)
    return invalid("cannot write the trace to " + path + ": " +
                   (errno == ENXIO ? "it is no regular file; name a file or a folder" : std::strerror(errno)));
  std::unique_ptr<TraceFile> file(new TraceFile(std::move(fd), path, ring_entries));
  file->write_header(about);
  return file;
}

TraceFile::TraceFile(Fd fd, std::string path, size_t ring_entries)
    : fd_(std::move(fd)), path_(std::move(path)), text_(std::make_unique<char[]>(kTextRoom)), ring_(ring_entries) {}

void TraceFile::finish() {
  if (thread_.joinable()) {
    {
      const MutexLock lock(mutex_);
      ending_ = true;
    }
    wake_.notify_one();
    const environment::Uncancelled now;
    thread_.join();  // it has written the rest
  } else {
    write_rest();
  }
}

// The content of the ring, and the gap behind it.
void TraceFile::write_rest() {
  drain();
  const uint64_t lost = ring_.lost() - lost_reported_;
  if (lost == 0) return;
  lost_reported_ += lost;
  char text[core::kTraceJsonRoom + 2];
  write_all(text, static_cast<size_t>(write_lost(text, lost) - text));
}

void TraceFile::write_header(const About& about) {
  using nlohmann::json;
  const json reference = {{"clock_type", "monotonic"}, {"epoch", "unknown"}, {"wall_clock_time", wall_clock()}};
  const json common = {{"time_format", "relative_to_epoch"}, {"reference_time", reference}};
  const json vantage = {{"name", about.device + " of process " + std::to_string(::getpid())}, {"type", "unknown"}};
  const json trace = {{"title", about.device},
                      {"common_fields", common},
                      {"vantage_point", vantage},
                      {"event_schemas", {"urn:mrc:qlog:events:1"}},
                      {"mrc_settings", json::parse(about.details)}};
  const json header = {{"file_schema", "urn:ietf:params:qlog:file:sequential"},
                       {"serialization_format", "application/qlog+json-seq"},
                       {"title", "MRC engine events"},
                       {"trace", trace}};
  // Names need not be UTF-8.
  const std::string text = kRecordSeparator + header.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  write_all(text.data(), text.size());
}

bool TraceFile::start() {
  const SignalsBlocked inherited;
  try {
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "mrc-trace");
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void TraceFile::run() {
  for (bool ending = false; !ending;) {
    {
      const MutexLock lock(mutex_);
      if (!ending_) wake_.wait_for(mutex_, kPause);
      ending = ending_;
    }
    if (!ending) drain();
  }
  write_rest();
}

bool TraceFile::write_all(const char* data, size_t size) {
  const SignalsBlocked a_full_quota;  // is an error here, and must not end the application
  while (size > 0 && !failed_) {
    const ssize_t n = ::write(fd_.get(), data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      failed_ = true;
      log_line(LogLevel::kError, "trace " + path_ + ": " + std::strerror(errno) + "; the trace ends here");
      break;
    }
    data += n;
    size -= static_cast<size_t>(n);
  }
  return !failed_;
}

// Behind the last event that was kept; returns the end of the text.
char* TraceFile::write_lost(char* out, uint64_t count) {
  *out++ = kRecordSeparator;
  out += core::write_trace_lost_json(out, last_at_, count);
  *out++ = '\n';
  return out;
}

void TraceFile::drain() {
  char* end = text_.get();
  for (uint64_t left = ring_.waiting(); left != 0; --left) {
    const TraceRing::Slot& slot = ring_.front();
    if (slot.lost_before != 0) {
      end = write_lost(end, slot.lost_before);
      lost_reported_ += slot.lost_before;
    }
    last_at_ = slot.entry.at;
    *end++ = kRecordSeparator;
    end += core::write_trace_json(end, slot.entry);
    *end++ = '\n';
    ring_.pop();
    if (end + 3 * core::kTraceJsonRoom < text_.get() + kTextRoom) continue;
    write_all(text_.get(), static_cast<size_t>(end - text_.get()));
    end = text_.get();
  }
  if (end != text_.get()) write_all(text_.get(), static_cast<size_t>(end - text_.get()));
}

}  // namespace mrc::device
