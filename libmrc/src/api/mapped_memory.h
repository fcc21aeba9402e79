// Checks that a range of this process's memory is mapped and writable. Called once per registration: a wrong pointer is
// refused with EFAULT, as by a NIC's driver, instead of causing a signal in the library when a packet arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mrc::api {

// Also true when the check is impossible. No range is longer than the address space.
bool memory_mapped(uint64_t start, size_t length, bool writable);

// The two ways in which it looks. None: this kernel cannot be asked (before Linux 6.11, or no /proc).
std::optional<bool> query_mappings(uint64_t start, size_t length, bool writable);
// Finds holes anywhere, and what may not be read or written at the first and the last byte.
bool probe_memory(uint64_t start, size_t length, bool writable);

}  // namespace mrc::api
