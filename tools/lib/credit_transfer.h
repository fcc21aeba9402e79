// A transfer as mrc-udp-limit and the limits of frames (tools/dev) measure it: the sender has a window of bytes in
// flight per plane, which the receiver's credit opens; the receiver copies all that arrives into a large memory and
// reports what it was. Host byte order: both ends are one program on machines of one kind.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "process_time.h"

namespace mrc::tools {

enum class TransferKind : uint32_t { kStart = 0x4D4C0001, kData, kCredit, kEnd, kReport };

struct TransferMessage {
  TransferKind kind = TransferKind::kData;
  uint32_t session = 0;
  uint64_t value = 0;     // credit: bytes received on this plane; report: bytes received in all
  uint64_t first_ns = 0;  // report: the server's clock at the first and the last byte
  uint64_t last_ns = 0;
  uint64_t cpu_us = 0;  // report: processor time of the server in this session
  uint64_t memory = 0;  // start: bytes of memory to copy into
};
static_assert(sizeof(TransferMessage) == 48);

// Ends the program with a message, and the reason of errno unless that is 0.
[[noreturn]] inline void fail_program(const char* program, const std::string& what) {
  std::fprintf(stderr, "%s: %s%s%s\n", program, what.c_str(), errno != 0 ? ": " : "",
               errno != 0 ? std::strerror(errno) : "");
  std::exit(2);
}

// Null: there is none.
inline uint8_t* map_memory(uint64_t bytes) {
  void* m = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return m == MAP_FAILED ? nullptr : static_cast<uint8_t*>(m);
}

// Of one plane of the sender.
class CreditWindow {
 public:
  void restart() { *this = CreditWindow(); }
  void begin(uint64_t now) { last_progress_ = now; }
  void on_sent(uint64_t bytes) { sent_ += bytes; }
  // `received`: bytes that the receiver has of this plane.
  void on_credit(uint64_t received, uint64_t now) {
    credited_ = std::max(credited_, received + lost_);
    last_progress_ = now;
  }
  uint64_t in_flight() const { return sent_ - credited_; }
  uint64_t lost() const { return lost_; }
  // With a closed window and no credit for 20 ms: what is in flight was lost.
  void write_off_if_stalled(uint64_t now) {
    if (now < last_progress_ + kStall) return;
    lost_ += in_flight();
    credited_ = sent_;
    last_progress_ = now;
  }

 private:
  static constexpr uint64_t kStall = 20000000;
  uint64_t sent_ = 0;
  uint64_t credited_ = 0;  // bytes the receiver has, or that were written off
  uint64_t lost_ = 0;
  uint64_t last_progress_ = 0;
};

// What the receiver has of one session.
class Reception {
 public:
  static constexpr uint64_t kCreditStep = 128 * 1024;  // bytes before a credit is returned, unless the queue ran empty

  uint32_t session() const { return session_; }
  // False: no memory of the size that the request asks for.
  // `map` returns memory that munmap() takes back, or null.
  bool begin(const TransferMessage& start, uint8_t* (*map)(uint64_t bytes) = map_memory) {
    uint8_t* const memory = memory_;
    const uint64_t bytes = bytes_;
    *this = Reception();
    session_ = start.session;
    cpu_at_start_ = cpu_seconds();
    memory_ = memory;
    bytes_ = bytes;
    if (bytes_ == start.memory) return true;
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
    bytes_ = start.memory;
    memory_ = map(bytes_);
    return memory_ != nullptr;
  }
  // Where the next bytes go, cyclically.
  uint8_t* place(uint64_t bytes) {
    uint8_t* const to = ahead(bytes);
    advance(bytes);
    return to;
  }
  // The same in two steps: so many bytes fit there, and so many of them arrived.
  uint8_t* ahead(uint64_t bytes) {
    if (at_ + bytes > bytes_) at_ = 0;
    return memory_ + at_;
  }
  void advance(uint64_t bytes) { at_ += bytes; }
  void count(uint64_t bytes) { total_ += bytes; }
  void arrived(uint64_t now) {
    last_ns_ = now;
    if (first_ns_ == 0) first_ns_ = now;
  }
  TransferMessage report() const {
    return {.kind = TransferKind::kReport,
            .session = session_,
            .value = total_,
            .first_ns = first_ns_,
            .last_ns = last_ns_,
            .cpu_us = static_cast<uint64_t>((cpu_seconds() - cpu_at_start_) * 1e6)};
  }

 private:
  uint32_t session_ = 0;
  uint8_t* memory_ = nullptr;
  uint64_t bytes_ = 0, at_ = 0;
  uint64_t total_ = 0, first_ns_ = 0, last_ns_ = 0;
  double cpu_at_start_ = 0;
};

}  // namespace mrc::tools
