#include "datapath/local/pipe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/stream_copy.h"
#include "cycles.h"
#include "invariant.h"

namespace mrc::datapath {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Values that the other side can change at any time are read once: the checked value is the one used.
template <typename T>
T read_once(const T& shared) {
  return *const_cast<const volatile T*>(&shared);
}

// The limits of a datapath's bursts.
bool is_burst(uint32_t bytes, uint32_t segment_size) {
  return bytes > 0 && bytes <= core::kMaxBurstBytes && segment_size > 0 &&
         (bytes - 1) / segment_size < core::kMaxSegments;
}

}  // namespace

PipePlace pipe_place(uint32_t number) {
  PipePlace place{0, 0, kPipeBuffers[0].bytes};
  while (number >= kPipeBuffers[place.size_class].count) {
    number -= kPipeBuffers[place.size_class].count;
    place.offset += kPipeBuffers[place.size_class].bytes * kPipeBuffers[place.size_class].count;
    place.bytes = kPipeBuffers[++place.size_class].bytes;
  }
  place.offset += number * place.bytes;
  return place;
}

PipeMapping::PipeMapping(int fd) {
  void* const p = ::mmap(nullptr, sizeof(PipeMemory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p != MAP_FAILED) memory_ = static_cast<PipeMemory*>(p);
}

PipeMapping::~PipeMapping() {
  if (memory_ != nullptr) ::munmap(memory_, sizeof(PipeMemory));
}

std::unique_ptr<PipeWriter> PipeWriter::make() {
  std::unique_ptr<PipeWriter> w(new PipeWriter);
  w->fd_ = Fd(::memfd_create("mrc-pipe", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!w->fd_ || ::ftruncate(w->fd_.get(), sizeof(PipeMemory)) != 0 || ::fcntl(w->fd_.get(), F_ADD_SEALS, kSeals) != 0)
    return nullptr;
  w->memory_ = PipeMapping(w->fd_.get());
  if (w->memory_.get() == nullptr) return nullptr;
  for (size_t c = 0; c < kPipeBuffers.size(); ++c) w->free_[c].reserve(kPipeBuffers[c].count);
  for (uint32_t i = kPipeBufferCount; i-- > 0;) w->free_[pipe_place(i).size_class].push_back(static_cast<uint16_t>(i));
  return w;
}

void PipeWriter::take_back() {
  PipeMemory& m = *memory_.get();
  const uint32_t returned = m.returned.load(std::memory_order_acquire);
  if (returned - taken_back_ > lent_) {
    broken_ = true;
    return;
  }
  for (; taken_back_ != returned; ++taken_back_, --lent_) {
    const uint32_t number = read_once(m.returns[taken_back_ % kPipeRing]) % kPipeBufferCount;
    const size_t c = pipe_place(number).size_class;
    if (free_[c].size() < kPipeBuffers[c].count) free_[c].push_back(static_cast<uint16_t>(number));
  }
}

// Of the smallest size that fits and has one.
std::optional<uint16_t> PipeWriter::take_buffer(uint32_t bytes) {
  for (size_t c = 0; c < kPipeBuffers.size(); ++c) {
    if (bytes > kPipeBuffers[c].bytes || free_[c].empty()) continue;
    const uint16_t number = free_[c].back();
    free_[c].pop_back();
    ++lent_;
    return number;
  }
  return std::nullopt;
}

void PipeWriter::copy(uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes < StoreChoice::kWorthTiming) {
    std::memcpy(to, from, bytes);
  } else if (stores_.stream()) {
    stream_copy(to, from, bytes);
  } else {
    const uint64_t begin = environment::cycles();
    std::memcpy(to, from, bytes);
    stores_.note(bytes, environment::cycles() - begin);
  }
}

PipeWriter::Written PipeWriter::write(const core::TxBurst& burst) {
  const Checked checked(this);
  take_back();
  if (broken_ || burst.bytes > core::kMaxBurstBytes) return Written::kFull;
  const std::optional<uint16_t> buffer = take_buffer(burst.bytes);
  if (!buffer) return Written::kFull;
  PipeMemory& m = *memory_.get();
  uint8_t* to = m.buffers + pipe_place(*buffer).offset;
  for (uint32_t i = 0; i < burst.iov_count; ++i) {
    copy(to, static_cast<const uint8_t*>(burst.iov[i].iov_base), burst.iov[i].iov_len);
    to += burst.iov[i].iov_len;
  }
  m.entries[written_ % kPipeRing] = {burst.flow, burst.bytes, burst.segment_size, *buffer};
  // Either this sees that the receiver sleeps, or the receiver, which polls again after it has set the flag, sees the
  // burst: both write, then read, in the one order of all such operations.
  m.written.store(++written_);
  if (m.asleep.load() == 0) return Written::kYes;
  return m.asleep.exchange(0) != 0 ? Written::kReaderAsleep : Written::kYes;
}

// Only numbers of this side's own, which agree whatever the receiver writes. One that returns buffers which it did not
// have reduces the number of those in use.
void PipeWriter::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(lent_ == written_ - taken_back_);
  stores_.check();
  size_t buffers = lent_;
  for (size_t c = 0; c < free_.size(); ++c) {
    MRC_INVARIANT(free_[c].empty() || pipe_place(free_[c].back()).size_class == c);
    buffers += free_[c].size();
  }
  MRC_INVARIANT(buffers <= kPipeBufferCount);
}

std::unique_ptr<PipeReader> PipeReader::map(int fd) {
  struct stat status {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd, &status) != 0 ||
      status.st_size != static_cast<off_t>(sizeof(PipeMemory)))
    return nullptr;
  std::unique_ptr<PipeReader> r(new PipeReader);
  r->memory_ = PipeMapping(fd);
  if (r->memory_.get() == nullptr) return nullptr;
  return r;
}

void PipeReader::give_back() {
  if (lent_count_ == 0) return;
  PipeMemory& m = *memory_.get();
  while (lent_count_ > 0) m.returns[returned_++ % kPipeRing] = lent_[--lent_count_];
  m.returned.store(returned_, std::memory_order_release);
  check();
}

// As for PipeWriter.
void PipeReader::check() const {
  MRC_INVARIANT(lent_count_ <= kMaxLent);
  MRC_INVARIANT(lent_count_ == read_ - returned_);
}

int PipeReader::read(core::RxBurst* out, int max) {
  const Checked checked(this);
  if (broken_) return 0;
  PipeMemory& m = *memory_.get();
  const uint32_t ready = m.written.load(std::memory_order_acquire) - read_;
  if (ready > kPipeBufferCount) {
    broken_ = true;
    return 0;
  }
  const int n = static_cast<int>(std::min({static_cast<uint32_t>(max), ready, kMaxLent - lent_count_}));
  for (int i = 0; i < n; ++i) {
    const PipeEntry& entry = m.entries[read_ % kPipeRing];
    const uint32_t bytes = read_once(entry.bytes), segment_size = read_once(entry.segment_size),
                   buffer = read_once(entry.buffer);
    const PipePlace place = pipe_place(buffer % kPipeBufferCount);
    if (buffer >= kPipeBufferCount || !is_burst(bytes, segment_size) || bytes > place.bytes) {
      broken_ = true;
      return i;
    }
    ++read_;
    lent_[lent_count_++] = static_cast<uint16_t>(buffer);
    out[i].flow = entry.flow;
    out[i].data = m.buffers + place.offset;
    out[i].bytes = bytes;
    out[i].segment_size = std::min(segment_size, bytes);
  }
  return n;
}

bool PipeReader::fall_asleep() {
  if (broken_) return false;
  memory_.get()->asleep.store(1);
  return memory_.get()->written.load() != read_;
}

}  // namespace mrc::datapath
