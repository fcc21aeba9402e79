// place_bytes: copies a packet's payload into registered memory so that a program which polls that memory is safe:
// nothing of the packet becomes visible after its last bytes. Programs poll the last byte of a write, or one word of a
// 64-byte slot, and then read the rest (spec/clients.md rule 14). The C library's memcpy may store the tail first, so
// it is used for the body alone; the last part, and every small packet, goes in ascending order, whole aligned 8-byte
// words where it can.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/stream_copy.h"

namespace mrc::core {

// Under ThreadSanitizer a function of its own, for reports name it: the race with the program that polls is that
// program's (tests/system/shim/tsan.supp).
#ifdef __SANITIZE_THREAD__
#define MRC_PLACEMENT __attribute__((noinline)) inline
#else
#define MRC_PLACEMENT inline
#endif

MRC_PLACEMENT void place_ascending(uint8_t* dst, const uint8_t* src, uint32_t n) {
  while (n > 0 && (reinterpret_cast<uintptr_t>(dst) & 7) != 0) {
    __atomic_store_n(dst++, *src++, __ATOMIC_RELEASE);
    --n;
  }
  while (n >= 8) {
    uint64_t word;
    std::memcpy(&word, src, 8);
    __atomic_store_n(reinterpret_cast<uint64_t*>(dst), word, __ATOMIC_RELEASE);
    dst += 8;
    src += 8;
    n -= 8;
  }
  while (n > 0) {
    __atomic_store_n(dst++, *src++, __ATOMIC_RELEASE);
    --n;
  }
}

// kStream: the body by stores that bypass the caches.
template <bool kStream = false>
MRC_PLACEMENT void place_bytes(uint8_t* dst, const uint8_t* src, uint32_t n) {
  constexpr uint32_t kTail = 64;
  if (n > 4 * kTail) {
    const uint32_t body = n - kTail;
    if constexpr (kStream)
      stream_copy(dst, src, body);
    else
      std::memcpy(dst, src, body);  // the release stores of the tail order it before themselves
    dst += body;
    src += body;
    n = kTail;
  }
  place_ascending(dst, src, n);
}

#undef MRC_PLACEMENT

}  // namespace mrc::core
