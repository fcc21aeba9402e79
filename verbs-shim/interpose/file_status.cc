// Attributes, access rights, links and real paths of files of our devices. [VRB-SYS-2]
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/export.h"
#include "interpose/out_of_memory.h"
#include "interpose/paths.h"
#include "rdma_cm/service.h"

#undef realpath

using mrc::shim::find_ours;
using mrc::shim::is_watched;
using mrc::shim::or_real;
using mrc::shim::OurFile;
using mrc::shim::watched_at;

namespace {

// Programs read type, permissions and size.
template <typename Stat>
void fill(const std::string& path, mode_t mode, size_t size, Stat* out) {
  std::memset(out, 0, sizeof *out);
  out->st_ino = mrc::shim::inode_of(path);
  out->st_mode = mode;
  out->st_nlink = 1;
  out->st_size = static_cast<off_t>(size);
}

void fill(const std::string& path, mode_t mode, size_t size, struct statx* out) {
  std::memset(out, 0, sizeof *out);
  out->stx_ino = mrc::shim::inode_of(path);
  out->stx_mask = STATX_BASIC_STATS;
  out->stx_mode = static_cast<uint16_t>(mode);
  out->stx_nlink = 1;
  out->stx_size = size;
}

// Of a watched path: true when it was answered; else `*path` is passed to glibc, and may be a file of the hardware.
template <typename Stat>
bool answer(std::string* path, bool follow, Stat* out) {
  const auto ours = find_ours(*path);
  if (!ours) return false;
  if (!ours->node.real.empty() && (follow || ours->node.kind != mrc::shim::SysfsNode::Kind::kLink)) {
    *path = ours->node.real;
    return false;
  }
  fill(*path, ours->mode(follow), ours->node.content.size(), out);
  return true;
}

// An open /dev/infiniband/rdma_cm is a pipe, and is described as the device. [CM-FD-1]
template <typename Stat>
void show_channel(Stat* out) {
  const auto* const service = mrc::shim::rdma_cm::Service::current();
  if (service == nullptr || !service->is_channel(out->st_dev, out->st_ino)) return;
  out->st_mode = S_IFCHR | 0666;
  const int errno_before = errno;  // a device that is missing is no error of this call
  struct stat device;
  if (MRC_NEXT(stat, int (*)(const char*, struct stat*))("/dev/infiniband/rdma_cm", &device) == 0)
    out->st_rdev = device.st_rdev;  // the kernel's, where it has one: librdmacm compares the numbers
  errno = errno_before;
}

// A path relative to a folder, as the *at functions take it.
struct Asked {
  int folder;
  const char* path;
  int flags;
  std::string other{};  // passed to glibc instead
};

// True when it was answered; else `asked` is passed to glibc. The descriptor of a folder of ours may be queried by an
// empty path.
template <typename Stat>
bool answer_at(Asked* asked, Stat* out) {
  const bool itself = asked->path != nullptr && asked->path[0] == '\0' && (asked->flags & AT_EMPTY_PATH) != 0;
  auto watched = itself ? mrc::shim::folder_of(asked->folder) : watched_at(asked->folder, asked->path);
  if (!watched) return false;
  if (answer(&*watched, (asked->flags & AT_SYMLINK_NOFOLLOW) == 0, out)) return true;
  asked->other = *watched;
  asked->folder = AT_FDCWD;
  asked->path = asked->other.c_str();
  return false;
}

int access_watched(const std::string& path, int mode) {
  using Access = int (*)(const char*, int);
  const auto ours = find_ours(path);
  if (!ours || !ours->node.real.empty())
    return MRC_NEXT(access, Access)(ours ? ours->node.real.c_str() : path.c_str(), mode);
  if ((mode & W_OK) != 0 && !ours->is_device) {
    errno = EACCES;
    return -1;
  }
  return 0;
}

ssize_t readlink_watched(const std::string& path, char* buffer, size_t size) {
  using ReadLink = ssize_t (*)(const char*, char*, size_t);
  const auto ours = find_ours(path);
  if (!ours) return MRC_NEXT(readlink, ReadLink)(path.c_str(), buffer, size);
  if (ours->node.kind != mrc::shim::SysfsNode::Kind::kLink) {
    if (!ours->node.real.empty()) return MRC_NEXT(readlink, ReadLink)(ours->node.real.c_str(), buffer, size);
    errno = EINVAL;
    return -1;
  }
  const size_t n = std::min(size, ours->node.content.size());
  std::copy_n(ours->node.content.data(), n, buffer);
  return static_cast<ssize_t>(n);
}

using RealPath = char* (*)(const char*, char*);

// With the links of the tree followed, as computed by a program that follows them itself.
char* real_path_watched(const char* path, char* resolved) {
  const RealPath real = MRC_NEXT(realpath, RealPath);
  const auto ours = find_ours(path);
  if (!ours) return real(path, resolved);
  if (!ours->node.real.empty()) return real(ours->node.real.c_str(), resolved);
  const std::string target = ours->is_device ? path : mrc::shim::linked_path(path);
  if (resolved == nullptr) return strdup(target.c_str());
  std::snprintf(resolved, PATH_MAX, "%s", target.c_str());
  return resolved;
}

// Of an open file: a folder or a channel of ours, or what `next` tells.
template <typename Stat, typename Next>
int describe_open(int fd, Stat* out, const Next& next) {
  const auto ours = [&] {
    const auto path = mrc::shim::folder_of(fd);
    if (!path) {
      const int result = next();
      if (result == 0 && S_ISFIFO(out->st_mode)) show_channel(out);
      return result;
    }
    fill(*path, S_IFDIR | 0755, 0, out);
    return 0;
  };
  return or_real(ours, next);
}

}  // namespace

extern "C" {

#define MRC_STAT(name, type, follow)                                      \
  MRC_EXPORT int name(const char* path, struct type* out) noexcept {      \
    const auto real = MRC_NEXT(name, int (*)(const char*, struct type*)); \
    if (!is_watched(path)) return real(path, out);                        \
    const auto ours = [&] {                                               \
      std::string asked = path;                                           \
      return answer(&asked, follow, out) ? 0 : real(asked.c_str(), out);  \
    };                                                                    \
    return or_real(ours, [&] { return real(path, out); });                \
  }
MRC_STAT(stat, stat, true)
MRC_STAT(lstat, stat, false)
MRC_STAT(stat64, stat64, true)
MRC_STAT(lstat64, stat64, false)
#undef MRC_STAT

// As called by programs compiled for glibc before 2.33.
#define MRC_XSTAT(name, type, follow)                                             \
  MRC_EXPORT int name(int version, const char* path, struct type* out) noexcept;  \
  int name(int version, const char* path, struct type* out) noexcept {            \
    const auto real = MRC_NEXT(name, int (*)(int, const char*, struct type*));    \
    if (!is_watched(path)) return real(version, path, out);                       \
    const auto ours = [&] {                                                       \
      std::string asked = path;                                                   \
      return answer(&asked, follow, out) ? 0 : real(version, asked.c_str(), out); \
    };                                                                            \
    return or_real(ours, [&] { return real(version, path, out); });               \
  }
MRC_XSTAT(__xstat, stat, true)
MRC_XSTAT(__lxstat, stat, false)
MRC_XSTAT(__xstat64, stat64, true)
MRC_XSTAT(__lxstat64, stat64, false)
#undef MRC_XSTAT

#define MRC_FSTAT(name, type)                                                                           \
  MRC_EXPORT int name(int fd, struct type* out) noexcept {                                              \
    return describe_open(fd, out, [&] { return MRC_NEXT(name, int (*)(int, struct type*))(fd, out); }); \
  }
MRC_FSTAT(fstat, stat)
MRC_FSTAT(fstat64, stat64)
#undef MRC_FSTAT

#define MRC_FXSTAT(name, type)                                                                           \
  MRC_EXPORT int name(int version, int fd, struct type* out) noexcept;                                   \
  int name(int version, int fd, struct type* out) noexcept {                                             \
    const auto next = [&] { return MRC_NEXT(name, int (*)(int, int, struct type*))(version, fd, out); }; \
    return describe_open(fd, out, next);                                                                 \
  }
MRC_FXSTAT(__fxstat, stat)
MRC_FXSTAT(__fxstat64, stat64)
#undef MRC_FXSTAT

#define MRC_FSTATAT(name, type)                                                                       \
  MRC_EXPORT int name(int folder, const char* path, struct type* out, int flags) noexcept {           \
    using Real = int (*)(int, const char*, struct type*, int);                                        \
    const auto ours = [&] {                                                                           \
      Asked asked{folder, path, flags};                                                               \
      return answer_at(&asked, out) ? 0 : MRC_NEXT(name, Real)(asked.folder, asked.path, out, flags); \
    };                                                                                                \
    return or_real(ours, [&] { return MRC_NEXT(name, Real)(folder, path, out, flags); });             \
  }
MRC_FSTATAT(fstatat, stat)
MRC_FSTATAT(fstatat64, stat64)
#undef MRC_FSTATAT

MRC_EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  using Real = int (*)(int, const char*, int, unsigned, struct statx*);
  const auto ours = [&] {
    Asked asked{folder, path, flags};
    return answer_at(&asked, out) ? 0 : MRC_NEXT(statx, Real)(asked.folder, asked.path, flags, mask, out);
  };
  return or_real(ours, [&] { return MRC_NEXT(statx, Real)(folder, path, flags, mask, out); });
}

#define MRC_ACCESS(name)                                                                          \
  MRC_EXPORT int name(const char* path, int mode) noexcept {                                      \
    const auto next = [&] { return MRC_NEXT(name, int (*)(const char*, int))(path, mode); };      \
    return is_watched(path) ? or_real([&] { return access_watched(path, mode); }, next) : next(); \
  }
MRC_ACCESS(access)
MRC_ACCESS(eaccess)
MRC_ACCESS(euidaccess)
#undef MRC_ACCESS

MRC_EXPORT int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  const auto next = [&] { return MRC_NEXT(faccessat, int (*)(int, const char*, int, int))(folder, path, mode, flags); };
  const auto ours = [&] {
    const auto watched = watched_at(folder, path);
    return watched ? access_watched(*watched, mode) : next();
  };
  return or_real(ours, next);
}

MRC_EXPORT ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  const auto next = [&] { return MRC_NEXT(readlink, ssize_t(*)(const char*, char*, size_t))(path, buffer, size); };
  return is_watched(path) ? or_real([&] { return readlink_watched(path, buffer, size); }, next) : next();
}
MRC_EXPORT ssize_t __readlink_chk(const char* path, char* buffer, size_t size, size_t room) noexcept {
  const auto next = [&] {
    return MRC_NEXT(__readlink_chk, ssize_t(*)(const char*, char*, size_t, size_t))(path, buffer, size, room);
  };
  if (!is_watched(path) || size > room) return next();
  return or_real([&] { return readlink_watched(path, buffer, size); }, next);
}
MRC_EXPORT ssize_t readlinkat(int folder, const char* path, char* buffer, size_t size) noexcept {
  const auto next = [&] {
    return MRC_NEXT(readlinkat, ssize_t(*)(int, const char*, char*, size_t))(folder, path, buffer, size);
  };
  const auto ours = [&] {
    const auto watched = watched_at(folder, path);
    return watched ? readlink_watched(*watched, buffer, size) : next();
  };
  return or_real(ours, next);
}
MRC_EXPORT ssize_t __readlinkat_chk(int folder, const char* path, char* buffer, size_t size, size_t room) noexcept {
  const auto next = [&] {
    using Real = ssize_t (*)(int, const char*, char*, size_t, size_t);
    return MRC_NEXT(__readlinkat_chk, Real)(folder, path, buffer, size, room);
  };
  const auto ours = [&] {
    const auto watched = size <= room ? watched_at(folder, path) : std::nullopt;
    return watched ? readlink_watched(*watched, buffer, size) : next();
  };
  return or_real(ours, next);
}

MRC_EXPORT char* realpath(const char* path, char* resolved) noexcept {
  const auto next = [&] { return MRC_NEXT(realpath, RealPath)(path, resolved); };
  return is_watched(path) ? or_real([&] { return real_path_watched(path, resolved); }, next) : next();
}
MRC_EXPORT char* __realpath_chk(const char* path, char* resolved, size_t room) noexcept {
  const auto next = [&] {
    return MRC_NEXT(__realpath_chk, char* (*)(const char*, char*, size_t))(path, resolved, room);
  };
  if (!is_watched(path) || room < PATH_MAX) return next();
  return or_real([&] { return real_path_watched(path, resolved); }, next);
}
MRC_EXPORT char* canonicalize_file_name(const char* path) noexcept {
  return realpath(path, nullptr);
}

}  // extern "C"
