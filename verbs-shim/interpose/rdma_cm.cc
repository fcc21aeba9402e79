// Commands to /dev/infiniband/rdma_cm: librdmacm writes them. The descriptor is the read end of a pipe, so that writing
// to it fails with EBADF; only then it is looked at, and any other write costs a comparison of its result. A program
// may look at errno after commands that succeed, as rdma_server does after it has closed what it had opened. [CM-FD-1]
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "interpose/export.h"
#include "interpose/paths.h"
#include "rdma_cm/service.h"

#undef write

extern "C" {

MRC_EXPORT ssize_t write(int fd, const void* bytes, size_t size) {
  const int errno_before = errno;
  const ssize_t written = MRC_NEXT(write, ssize_t(*)(int, const void*, size_t))(fd, bytes, size);
  if (written >= 0 || errno != EBADF) [[likely]]
    return written;
  auto* const service = mrc::shim::rdma_cm::Service::current();
  if (service == nullptr) return written;
  try {
    const ssize_t taken = service->write(fd, bytes, size);
    if (taken >= 0) errno = errno_before;
    return taken;
  } catch (const std::exception&) {
    errno = ENOMEM;
    return -1;
  }
}

}  // extern "C"
