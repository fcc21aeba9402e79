#include "rdma_cm/user_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

namespace mrc::shim::rdma_cm {

namespace {

// The result of a copy by the kernel: 0, EFAULT, or -1 when it does not do it. A process may always copy within itself,
// but the filter of a container may forbid the call; it is then done without a check. A pipe would do it, too, but
// not for a process that has no descriptor left.
int result(ssize_t copied, size_t size) {
  if (copied == static_cast<ssize_t>(size)) return 0;
  return copied >= 0 || errno == EFAULT ? EFAULT : -1;
}

}  // namespace

int copy_from_user(void* to, uint64_t from, size_t size) {
  const iovec ours = {to, size}, theirs = {reinterpret_cast<void*>(from), size};
  const int error = result(process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0), size);
  if (error >= 0 || from == 0) return error >= 0 ? error : EFAULT;
  std::memcpy(to, theirs.iov_base, size);
  return 0;
}

int copy_to_user(uint64_t to, const void* from, size_t size) {
  const iovec ours = {const_cast<void*>(from), size}, theirs = {reinterpret_cast<void*>(to), size};
  const int error = result(process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0), size);
  if (error >= 0 || to == 0) return error >= 0 ? error : EFAULT;
  std::memcpy(theirs.iov_base, from, size);
  return 0;
}

}  // namespace mrc::shim::rdma_cm
