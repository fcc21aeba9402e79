// A pipe: bursts from one process to another of the same host, through memory that both have mapped. The sender makes
// the memory (a sealed memfd, so that it cannot shrink under the receiver) and passes its descriptor on.
//
// A burst has a buffer of its own. The sender fills a free buffer, the receiver's engine reads it in place, and the
// receiver returns it; the sender uses the buffer returned last, so that as few as possible are in use and
// stay in the cache. The engine copies each byte once on either side, and the only system call is the one to wake a
// sleeping receiver.
//
// Neither side trusts the other's numbers: an invalid one ends the pipe (broken()), and no memory outside of it is
// accessed. The engine checks the packets like any others [MRC-LOCAL-2].
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/store_choice.h"
#include "core/burst.h"
#include "fd.h"

namespace mrc::datapath {

// The memory's layout; both sides must have the same, which the handshake compares. Buffers come in three sizes, so
// that thousands of small packets find room as in the receive buffer of a socket; unused ones are never accessed.
struct PipeBuffers {
  uint32_t bytes;
  uint32_t count;
};
inline constexpr std::array<PipeBuffers, 3> kPipeBuffers{{{512, 4096}, {8192, 512}, {65536, 128}}};
inline constexpr uint32_t kPipeBufferCount = 4096 + 512 + 128;
inline constexpr uint32_t kPipeBufferBytes = 512 * 4096 + 8192 * 512 + 65536 * 128;
inline constexpr uint32_t kPipeRing = 8192;  // a power of two above kPipeBufferCount
static_assert(core::kMaxBurstBytes <= kPipeBuffers.back().bytes && kPipeBufferCount < kPipeRing);

// Offset and length of buffer `number`. number < kPipeBufferCount.
struct PipePlace {
  size_t size_class;
  uint32_t offset;
  uint32_t bytes;
};
PipePlace pipe_place(uint32_t number);

struct PipeEntry {
  wire::Flow flow;
  uint32_t bytes;
  uint32_t segment_size;
  uint32_t buffer;
};

struct PipeMemory {
  alignas(64) std::atomic<uint32_t> written;   // bursts so far; the sender's
  alignas(64) std::atomic<uint32_t> returned;  // buffers returned so far; the receiver's
  alignas(64) std::atomic<uint32_t> asleep;    // 1: the receiver requires a wake-up; set by it, cleared by the sender
  alignas(64) PipeEntry entries[kPipeRing];    // by `written`; at most one entry per buffer can be queued
  alignas(64) uint16_t returns[kPipeRing];     // by `returned`: numbers of buffers
  alignas(4096) uint8_t buffers[kPipeBufferBytes];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// A mapping, unmapped at its end.
class PipeMapping {
 public:
  PipeMapping() = default;
  explicit PipeMapping(int fd);  // null get() and errno when it cannot be mapped
  PipeMapping(PipeMapping&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  PipeMapping& operator=(PipeMapping&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~PipeMapping();
  PipeMemory* get() const { return memory_; }

 private:
  PipeMemory* memory_ = nullptr;
};

class PipeWriter {
 public:
  // Null and errno if the kernel provides no memory.
  static std::unique_ptr<PipeWriter> make();
  int fd() const { return fd_.get(); }  // to be passed to the receiver
  void close_fd() { fd_ = Fd(); }       // the receiver has it now

  enum class Written : uint8_t { kYes, kReaderAsleep, kFull };
  Written write(const core::TxBurst& burst);
  bool broken() const { return broken_; }  // the receiver returned a buffer that it did not have
  void check() const;

 private:
  static constexpr uint64_t kSlowCopy = 1500;  // see StoreChoice

  PipeWriter() = default;
  void take_back();
  void copy(uint8_t* to, const uint8_t* from, size_t bytes);
  std::optional<uint16_t> take_buffer(uint32_t bytes);

  Fd fd_;
  PipeMapping memory_;
  uint32_t written_ = 0;
  uint32_t taken_back_ = 0;
  uint32_t lent_ = 0;
  std::array<std::vector<uint16_t>, kPipeBuffers.size()> free_;  // stacks, by size
  StoreChoice stores_{kSlowCopy};
  bool broken_ = false;
};

class PipeReader {
 public:
  static constexpr uint32_t kMaxLent = 64;
  // Null when the descriptor is not such memory, or cannot be mapped.
  static std::unique_ptr<PipeReader> map(int fd);

  // At most `max` bursts, and kMaxLent, whose buffers are valid until give_back(); their plane is left to the caller.
  int read(core::RxBurst* out, int max);
  void give_back();
  bool empty() const { return broken_ || memory_.get()->written.load(std::memory_order_acquire) == read_; }
  // From now on the sender wakes this side with its next burst. True: a burst is queued already.
  bool fall_asleep();
  bool broken() const { return broken_; }  // the sender wrote an invalid entry
  void check() const;

 private:
  PipeReader() = default;

  PipeMapping memory_;
  uint32_t read_ = 0;
  uint32_t returned_ = 0;
  std::array<uint16_t, kMaxLent> lent_;
  uint32_t lent_count_ = 0;
  bool broken_ = false;
};

}  // namespace mrc::datapath
