// Memory that goes away under a registration: two pages of a file, in each of the ways in which it does.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

namespace mrc::harness {

// Without handlers of the program or of a sanitizer, which would be called for protected memory.
class NoFaultHandlers {
 public:
  NoFaultHandlers() {
    for (int i = 0; i < 2; ++i) {
      struct sigaction none {};
      none.sa_handler = SIG_DFL;
      sigaction(kSignals[i], &none, &before_[i]);
    }
  }
  ~NoFaultHandlers() {
    for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  NoFaultHandlers(const NoFaultHandlers&) = delete;
  NoFaultHandlers& operator=(const NoFaultHandlers&) = delete;

 private:
  static constexpr int kSignals[2] = {SIGSEGV, SIGBUS};
  struct sigaction before_[2];
};

class GoneMemory {
 public:
  static constexpr size_t kPage = 4096, kBytes = 2 * kPage;
  enum How { kUnmapped, kTruncated, kProtected };

  GoneMemory() : file_(memfd_create("gone", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_, kBytes), 0);
    // The kernel fills gaps from above: far below all others nothing takes the place of what is unmapped.
    void* const far_below = mmap(nullptr, kFar, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_EQ(munmap(far_below, kFar), 0);
    data_ = static_cast<uint8_t*>(
        mmap(far_below, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file_, 0));
    EXPECT_NE(static_cast<void*>(data_), MAP_FAILED);
  }
  ~GoneMemory() {
    if (mapped_) munmap(data_, kBytes);
    close(file_);
  }
  GoneMemory(const GoneMemory&) = delete;
  GoneMemory& operator=(const GoneMemory&) = delete;

  void go(How how) {
    if (how == kUnmapped) {
      EXPECT_EQ(munmap(data_, kBytes), 0);
      mapped_ = false;
    }
    if (how == kTruncated) {
      EXPECT_EQ(ftruncate(file_, 0), 0);
    }
    if (how == kProtected) {
      EXPECT_EQ(mprotect(data_, kBytes, PROT_NONE), 0);
    }
  }
  void come_back() {
    EXPECT_EQ(ftruncate(file_, kBytes), 0);
    EXPECT_NE(mmap(data_, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0), MAP_FAILED);
    mapped_ = true;
  }
  uint8_t* data() const { return data_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  iovec piece() const { return {data_, kBytes}; }

 private:
  static constexpr size_t kFar = size_t{1} << 30;

  const int file_;
  uint8_t* data_ = nullptr;
  bool mapped_ = true;
};

}  // namespace mrc::harness
