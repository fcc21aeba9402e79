// Memory that changes while it is read, as a thread of the application may change it at any moment. Every second page
// is protected; the first access to it makes it accessible and flips all bytes of the page before, which a reader has
// taken by then. Without threads, so that the moment is always the same. One object at a time.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "harness/gone_memory.h"

namespace mrc::harness {

class ChangingMemory {
 public:
  static constexpr size_t kPage = 4096;

  // `pages` is even.
  explicit ChangingMemory(size_t pages) : bytes_(pages * kPage) {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    data_ = static_cast<uint8_t*>(memory);
    for (size_t i = 0; i < bytes_; ++i) data_[i] = static_cast<uint8_t>(i * 7 + i / 251);
    current_ = this;
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    EXPECT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
    arm();
  }
  ~ChangingMemory() {
    current_ = nullptr;
    munmap(data_, bytes_);
  }
  ChangingMemory(const ChangingMemory&) = delete;
  ChangingMemory& operator=(const ChangingMemory&) = delete;

  // Protects the pages again.
  void arm() {
    for (size_t at = kPage; at < bytes_; at += 2 * kPage) EXPECT_EQ(mprotect(data_ + at, kPage, PROT_NONE), 0);
  }
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  size_t changes() const { return changes_; }

 private:
  static void on_fault(int, siginfo_t* info, void*) {
    if (current_ == nullptr || !current_->change(static_cast<uint8_t*>(info->si_addr))) signal(SIGSEGV, SIG_DFL);
  }
  // False: the address is none of a protected page.
  bool change(const uint8_t* at) {
    if (at < data_ + kPage || at >= data_ + bytes_) return false;
    uint8_t* const page = data_ + static_cast<size_t>(at - data_) / kPage * kPage;
    if (mprotect(page, kPage, PROT_READ | PROT_WRITE) != 0) return false;
    for (uint8_t* byte = page - kPage; byte < page; ++byte) *byte = static_cast<uint8_t>(~*byte);
    changes_ = changes_ + 1;
    return true;
  }

  static inline ChangingMemory* current_ = nullptr;
  const NoFaultHandlers handlers_;  // puts back those that were before
  const size_t bytes_;
  uint8_t* data_ = nullptr;
  volatile size_t changes_ = 0;
};

}  // namespace mrc::harness
