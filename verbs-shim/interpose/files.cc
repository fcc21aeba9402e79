// Opening files of our devices, for programs that read sysfs themselves: a file opened below /sys/class/infiniband* is
// a memory file with the answer, and /dev/infiniband/uverbs* of ours opens. Names with __ are called by programs
// compiled with checks of the C library. [VRB-SYS-2]
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "interpose/export.h"
#include "interpose/out_of_memory.h"
#include "interpose/paths.h"
#include "rdma_cm/service.h"

#undef open
#undef open64
#undef openat
#undef openat64
#undef fopen
#undef fopen64

using mrc::shim::or_real;

namespace {

using Open = int (*)(const char*, int, ...);
using OpenAt = int (*)(int, const char*, int, ...);
using FOpen = FILE* (*)(const char*, const char*);

// A descriptor of ours for a watched path. Empty: it is passed to glibc, as `*path`, which may have changed to a file
// of the hardware.
std::optional<int> open_ours(std::string* path, int flags) {
  const auto ours = mrc::shim::find_ours(*path);
  if (!ours) return std::nullopt;
  if (!ours->node.real.empty()) {
    *path = ours->node.real;
    return std::nullopt;
  }
  const bool folder = (ours->mode(true) & S_IFMT) == S_IFDIR;
  int error = 0;
  if (!folder && (flags & O_DIRECTORY) != 0) error = ENOTDIR;
  if (folder && (flags & O_ACCMODE) != O_RDONLY) error = EISDIR;
  if (!folder && !ours->is_device && (flags & O_ACCMODE) != O_RDONLY) error = EACCES;
  if (error != 0) {
    errno = error;
    return -1;
  }
  if (ours->is_rdma_cm) return mrc::shim::rdma_cm::Service::open(flags);
  const bool close_on_exec = (flags & O_CLOEXEC) != 0;
  return folder ? mrc::shim::open_folder(*path, close_on_exec)
                : mrc::shim::open_content(ours->node.content, close_on_exec);
}

int open_watched(Open real, std::string path, int flags, mode_t mode) {
  if (const auto fd = open_ours(&path, flags)) return *fd;
  return real(path.c_str(), flags, mode);
}

FILE* fopen_watched(FOpen real, std::string path, const char* mode) {
  const bool reads = std::strpbrk(mode, "wa+") == nullptr;
  if (const auto fd = open_ours(&path, (reads ? O_RDONLY : O_RDWR) | O_CLOEXEC))
    return *fd >= 0 ? fdopen(*fd, mode) : nullptr;
  return real(path.c_str(), mode);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

#define MRC_OPEN(name)                                                           \
  MRC_EXPORT int name(const char* path, int flags, ...) {                        \
    va_list arguments;                                                           \
    va_start(arguments, flags);                                                  \
    const mode_t mode = mode_of(flags, arguments);                               \
    va_end(arguments);                                                           \
    const Open real = MRC_NEXT(name, Open);                                      \
    const auto next = [&] { return real(path, flags, mode); };                   \
    if (!mrc::shim::is_watched(path)) return next();                             \
    return or_real([&] { return open_watched(real, path, flags, mode); }, next); \
  }
MRC_OPEN(open)
MRC_OPEN(open64)
#undef MRC_OPEN

#define MRC_OPENAT(name, plain)                                                             \
  MRC_EXPORT int name(int folder, const char* path, int flags, ...) {                       \
    va_list arguments;                                                                      \
    va_start(arguments, flags);                                                             \
    const mode_t mode = mode_of(flags, arguments);                                          \
    va_end(arguments);                                                                      \
    const auto next = [&] { return MRC_NEXT(name, OpenAt)(folder, path, flags, mode); };    \
    const auto ours = [&] {                                                                 \
      const auto watched = mrc::shim::watched_at(folder, path);                             \
      return watched ? open_watched(MRC_NEXT(plain, Open), *watched, flags, mode) : next(); \
    };                                                                                      \
    return or_real(ours, next);                                                             \
  }
MRC_OPENAT(openat, open)
MRC_OPENAT(openat64, open64)
#undef MRC_OPENAT

#define MRC_OPEN_2(name, plain)                                                                \
  MRC_EXPORT int name(const char* path, int flags) {                                           \
    const auto next = [&] { return MRC_NEXT(name, int (*)(const char*, int))(path, flags); };  \
    if (!mrc::shim::is_watched(path)) return next();                                           \
    return or_real([&] { return open_watched(MRC_NEXT(plain, Open), path, flags, 0); }, next); \
  }
MRC_OPEN_2(__open_2, open)
MRC_OPEN_2(__open64_2, open64)
#undef MRC_OPEN_2

#define MRC_OPENAT_2(name, plain)                                                                          \
  MRC_EXPORT int name(int folder, const char* path, int flags) {                                           \
    const auto next = [&] { return MRC_NEXT(name, int (*)(int, const char*, int))(folder, path, flags); }; \
    const auto ours = [&] {                                                                                \
      const auto watched = mrc::shim::watched_at(folder, path);                                            \
      return watched ? open_watched(MRC_NEXT(plain, Open), *watched, flags, 0) : next();                   \
    };                                                                                                     \
    return or_real(ours, next);                                                                            \
  }
MRC_OPENAT_2(__openat_2, open)
MRC_OPENAT_2(__openat64_2, open64)
#undef MRC_OPENAT_2

#define MRC_FOPEN(name)                                                    \
  MRC_EXPORT FILE* name(const char* path, const char* mode) {              \
    const FOpen real = MRC_NEXT(name, FOpen);                              \
    const auto next = [&] { return real(path, mode); };                    \
    if (!mrc::shim::is_watched(path)) return next();                       \
    return or_real([&] { return fopen_watched(real, path, mode); }, next); \
  }
MRC_FOPEN(fopen)
MRC_FOPEN(fopen64)
#undef MRC_FOPEN

}  // extern "C"
