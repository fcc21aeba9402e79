// Memory that an application names in a command: a wrong pointer is EFAULT, as from the kernel, and not a crash in a
// library that the application has not called. The kernel copies, since only it can tell without a signal. [CM-FD-3]
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace mrc::shim::rdma_cm {

// 0 or EFAULT; a part may have been copied.
int copy_from_user(void* to, uint64_t from, size_t size);
int copy_to_user(uint64_t to, const void* from, size_t size);

// The answer to a command that has room for `room` bytes; ENOSPC below `smallest`. Older librdmacm do not know the last
// fields of some answers.
template <typename Answer>
int respond_some(uint64_t to, size_t room, size_t smallest, const Answer& answer) {
  return room < smallest ? ENOSPC : copy_to_user(to, &answer, std::min(room, sizeof answer));
}

template <typename Answer>
int respond(uint64_t to, size_t room, const Answer& answer) {
  return respond_some(to, room, sizeof answer, answer);
}

}  // namespace mrc::shim::rdma_cm
