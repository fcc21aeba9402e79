// Is a range of this process's memory there, and writable? Asked once per registration, so that a wrong pointer is
// refused with EFAULT, as a NIC's driver does, rather than met by a signal inside the library when a packet arrives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc::api {

// True as well when the answer cannot be had (no /proc).
bool memory_mapped(uint64_t start, size_t length, bool writable);

}  // namespace mrc::api
