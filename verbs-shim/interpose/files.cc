// Files of our devices for programs that read sysfs themselves: what they open below /sys/class/infiniband* is a memory
// file with the answer, and /dev/infiniband/uverbs* of ours is accessible. Every other path goes to glibc at once: one
// comparison of a prefix. [VRB-SYS-2]
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "interpose/export.h"
#include "objects/device.h"
#include "sysfs/answers.h"

#undef open
#undef open64
#undef fopen
#undef fopen64
#undef realpath

namespace {

constexpr char kDevices[] = "/dev/infiniband/";

bool is_device_path(const char* path) {
  return path != nullptr && std::strncmp(path, kDevices, sizeof kDevices - 1) == 0;
}

bool is_ours(const char* path) {
  return is_device_path(path) ? mrc::shim::device_by_uverbs(path + sizeof kDevices - 1) != nullptr
                              : mrc::shim::is_folder(path);
}

// A descriptor with the answer, or -1 when it is no file of ours.
int open_answer(const char* path) {
  std::string content;
  if (is_device_path(path) ? !is_ours(path) : !mrc::shim::answer(path, &content)) return -1;
  const int fd = memfd_create("mrc-verbs", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (write(fd, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    close(fd);
    return -1;
  }
  lseek(fd, 0, SEEK_SET);
  return fd;
}

bool looked_at(const char* path) {
  return mrc::shim::is_sysfs_path(path) || is_device_path(path);
}

template <typename F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

using Open = int (*)(const char*, int, ...);
using OpenAt = int (*)(int, const char*, int, ...);
using FOpen = FILE* (*)(const char*, const char*);

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

// Type and permissions are what programs look at.
template <typename Stat>
bool fill_stat(const char* path, Stat* out) {
  if (!looked_at(path)) return false;
  std::string content;
  mode_t mode;
  if (is_ours(path))
    mode = is_device_path(path) ? S_IFCHR | 0666 : S_IFDIR | 0755;
  else if (mrc::shim::answer(path, &content))
    mode = S_IFREG | 0444;
  else
    return false;
  std::memset(out, 0, sizeof *out);
  out->st_mode = mode;
  out->st_nlink = 1;
  out->st_size = static_cast<off_t>(content.size());
  return true;
}

FILE* fopen_answer(const char* path, const char* mode) {
  const int fd = std::strchr(mode, 'w') == nullptr ? open_answer(path) : -1;
  return fd >= 0 ? fdopen(fd, "r") : nullptr;
}

}  // namespace

extern "C" {

#define MRC_OPEN(name)                                          \
  MRC_EXPORT int name(const char* path, int flags, ...) {       \
    static const Open real = next<Open>(#name);                 \
    va_list arguments;                                          \
    va_start(arguments, flags);                                 \
    const mode_t mode = mode_of(flags, arguments);              \
    va_end(arguments);                                          \
    if (looked_at(path))                                        \
      if (const int fd = open_answer(path); fd >= 0) return fd; \
    return real(path, flags, mode);                             \
  }
MRC_OPEN(open)
MRC_OPEN(open64)
#undef MRC_OPEN

#define MRC_OPENAT(name)                                              \
  MRC_EXPORT int name(int folder, const char* path, int flags, ...) { \
    static const OpenAt real = next<OpenAt>(#name);                   \
    va_list arguments;                                                \
    va_start(arguments, flags);                                       \
    const mode_t mode = mode_of(flags, arguments);                    \
    va_end(arguments);                                                \
    if (looked_at(path))                                              \
      if (const int fd = open_answer(path); fd >= 0) return fd;       \
    return real(folder, path, flags, mode);                           \
  }
MRC_OPENAT(openat)
MRC_OPENAT(openat64)
#undef MRC_OPENAT

MRC_EXPORT FILE* fopen(const char* path, const char* mode) {
  static const FOpen real = next<FOpen>("fopen");
  if (looked_at(path))
    if (FILE* file = fopen_answer(path, mode)) return file;
  return real(path, mode);
}
MRC_EXPORT FILE* fopen64(const char* path, const char* mode) {
  static const FOpen real = next<FOpen>("fopen64");
  if (looked_at(path))
    if (FILE* file = fopen_answer(path, mode)) return file;
  return real(path, mode);
}

#define MRC_STAT(name, type)                                         \
  MRC_EXPORT int name(const char* path, struct type* out) noexcept { \
    using Stat = int (*)(const char*, struct type*);                 \
    static const Stat real = next<Stat>(#name);                      \
    return fill_stat(path, out) ? 0 : real(path, out);               \
  }
MRC_STAT(stat, stat)
MRC_STAT(lstat, stat)
MRC_STAT(stat64, stat64)
MRC_STAT(lstat64, stat64)
#undef MRC_STAT

MRC_EXPORT int access(const char* path, int mode) noexcept {
  using Access = int (*)(const char*, int);
  static const Access real = next<Access>("access");
  if (looked_at(path)) {
    std::string content;
    if (is_ours(path) || mrc::shim::answer(path, &content)) return 0;
  }
  return real(path, mode);
}

// Of the folder `device`, whose real place would tell the PCI address: there is none, so the path stands for itself.
MRC_EXPORT char* realpath(const char* path, char* resolved) noexcept {
  using RealPath = char* (*)(const char*, char*);
  static const RealPath real = next<RealPath>("realpath");
  if (!looked_at(path) || !is_ours(path)) return real(path, resolved);
  if (resolved == nullptr) return strdup(path);
  std::snprintf(resolved, PATH_MAX, "%s", path);
  return resolved;
}

}  // extern "C"
