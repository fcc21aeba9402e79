// Checks that a range of this process's memory is mapped and writable. Called once per registration: a wrong pointer is
// refused with EFAULT, as by a NIC's driver, instead of causing a signal in the library when a packet arrives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc::api {

// Also true when the check is impossible (no /proc).
bool memory_mapped(uint64_t start, size_t length, bool writable);

}  // namespace mrc::api
