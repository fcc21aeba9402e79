// Listing folders of our devices. A DIR of ours is an object of the shim; all functions that take one distinguish it
// from glibc's by a table of the open ones, which is checked only while there are some. The two class folders list the
// kernel's devices first. [VRB-SYS-3]
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "interpose/export.h"
#include "interpose/out_of_memory.h"
#include "interpose/paths.h"
#include "mutex.h"

using mrc::shim::or_enomem;
using mrc::shim::or_real;
using mrc::shim::SysfsEntry;
using Kind = mrc::shim::SysfsNode::Kind;

static_assert(sizeof(dirent) == sizeof(dirent64) && offsetof(dirent, d_name) == offsetof(dirent64, d_name),
              "one entry serves both kinds of callers");

namespace {

struct Folder {
  std::string path;
  std::vector<dirent> entries;
  size_t at = 0;
  int fd = -1;  // created at the first use
};

std::atomic<int> open_count{0};
mrc::Mutex open_mutex;
std::set<const void*>& open_folders() ABSL_EXCLUSIVE_LOCKS_REQUIRED(open_mutex) {
  static auto* folders = new std::set<const void*>;  // programs close folders while they exit
  return *folders;
}

Folder* ours(DIR* dir) {
  if (open_count.load(std::memory_order_acquire) == 0) return nullptr;
  const mrc::MutexLock lock(open_mutex);
  return open_folders().count(dir) != 0 ? reinterpret_cast<Folder*>(dir) : nullptr;
}

void add(Folder* folder, const char* name, unsigned char type) {
  const bool known = std::any_of(folder->entries.begin(), folder->entries.end(),
                                 [name](const dirent& entry) { return std::strcmp(entry.d_name, name) == 0; });
  if (known) return;
  dirent entry{};
  entry.d_ino = mrc::shim::inode_of(folder->path + "/" + name);
  entry.d_off = static_cast<off_t>(folder->entries.size() + 1);
  entry.d_reclen = sizeof entry;
  entry.d_type = type;
  std::strncpy(entry.d_name, name, sizeof entry.d_name - 1);
  folder->entries.push_back(entry);
}

using OpenDir = DIR* (*)(const char*);

// glibc's own, since mrc::Folder (folder.h) would call the functions below.
struct CloseReal {
  void operator()(DIR* dir) const { MRC_NEXT(closedir, int (*)(DIR*))(dir); }
};
using RealFolder = std::unique_ptr<DIR, CloseReal>;

// Null: none of ours, or errno.
Folder* make_folder(const std::string& path) {
  auto folder = std::make_unique<Folder>();
  folder->path = mrc::shim::normal_path(path);
  add(folder.get(), ".", DT_DIR);
  add(folder.get(), "..", DT_DIR);
  if (const RealFolder real{MRC_NEXT(opendir, OpenDir)(path.c_str())}) {
    while (const dirent* entry = MRC_NEXT(readdir, dirent * (*)(DIR*))(real.get()))
      add(folder.get(), entry->d_name, entry->d_type);
  }
  for (const SysfsEntry& entry : mrc::shim::list_folder(path))
    add(folder.get(), entry.name.c_str(),
        entry.kind == Kind::kFile   ? DT_REG
        : entry.kind == Kind::kLink ? DT_LNK
                                    : DT_DIR);
  const mrc::MutexLock lock(open_mutex);
  open_folders().insert(folder.get());
  open_count.fetch_add(1, std::memory_order_release);
  return folder.release();
}

DIR* as_dir(Folder* folder) {
  return reinterpret_cast<DIR*>(folder);
}

// A watched path: ours, or glibc's under another path.
DIR* open_watched(const std::string& path) {
  const auto found = mrc::shim::find_ours(path);
  const OpenDir real = MRC_NEXT(opendir, OpenDir);
  if (!found) return real(path.c_str());
  if (!found->node.real.empty()) return real(found->node.real.c_str());
  if (found->is_device || found->node.kind == Kind::kFile) {
    errno = ENOTDIR;
    return nullptr;
  }
  return as_dir(make_folder(path));
}

int close_ours(Folder* folder) {
  {
    const mrc::MutexLock lock(open_mutex);
    open_folders().erase(folder);
    open_count.fetch_sub(1);
  }
  if (folder->fd >= 0) close(folder->fd);
  delete folder;
  return 0;
}

dirent* next_entry(Folder* folder) {
  return folder->at < folder->entries.size() ? &folder->entries[folder->at++] : nullptr;
}

template <typename Entry>
int scan_watched(const std::string& path, Entry*** list, int (*filter)(const Entry*),
                 int (*compare)(const Entry**, const Entry**)) {
  DIR* const dir = opendir(path.c_str());
  if (dir == nullptr) return -1;
  std::vector<Entry*> chosen;
  while (const auto* entry = reinterpret_cast<const Entry*>(readdir(dir))) {
    if (filter != nullptr && filter(entry) == 0) continue;
    auto* copy = static_cast<Entry*>(std::malloc(sizeof *entry));
    if (copy == nullptr) break;  // a shorter list
    std::memcpy(copy, entry, std::min<size_t>(entry->d_reclen, sizeof *entry));
    chosen.push_back(copy);
  }
  closedir(dir);
  if (compare != nullptr)
    std::sort(chosen.begin(), chosen.end(), [compare](const Entry* a, const Entry* b) { return compare(&a, &b) < 0; });
  *list = static_cast<Entry**>(std::malloc(std::max<size_t>(chosen.size(), 1) * sizeof(Entry*)));
  std::copy(chosen.begin(), chosen.end(), *list);
  return static_cast<int>(chosen.size());
}

}  // namespace

extern "C" {

MRC_EXPORT DIR* opendir(const char* path) {
  const auto next = [&] { return MRC_NEXT(opendir, OpenDir)(path); };
  return mrc::shim::is_watched(path) ? or_real([&] { return open_watched(path); }, next) : next();
}

MRC_EXPORT DIR* fdopendir(int fd) {
  const auto next = [&] { return MRC_NEXT(fdopendir, DIR * (*)(int))(fd); };
  const auto ours = [&]() -> DIR* {
    const auto path = mrc::shim::folder_of(fd);
    if (!path) return next();
    Folder* const folder = make_folder(*path);
    folder->fd = fd;  // which belongs to the DIR from now on
    return as_dir(folder);
  };
  return or_real(ours, next);
}

MRC_EXPORT int closedir(DIR* dir) {
  if (Folder* folder = ours(dir)) return close_ours(folder);
  return MRC_NEXT(closedir, int (*)(DIR*))(dir);
}

MRC_EXPORT dirent* readdir(DIR* dir) {
  if (Folder* folder = ours(dir)) return next_entry(folder);
  return MRC_NEXT(readdir, dirent * (*)(DIR*))(dir);
}
MRC_EXPORT dirent64* readdir64(DIR* dir) {
  if (Folder* folder = ours(dir)) return reinterpret_cast<dirent64*>(next_entry(folder));
  return MRC_NEXT(readdir64, dirent64 * (*)(DIR*))(dir);
}

#define MRC_READDIR_R(name, type)                                                                   \
  MRC_EXPORT int name(DIR* dir, type* entry, type** result) {                                       \
    Folder* const folder = ours(dir);                                                               \
    if (folder == nullptr) return MRC_NEXT(name, int (*)(DIR*, type*, type**))(dir, entry, result); \
    const dirent* const next = next_entry(folder);                                                  \
    if (next != nullptr) std::memcpy(static_cast<void*>(entry), next, sizeof *entry);               \
    *result = next != nullptr ? entry : nullptr;                                                    \
    return 0;                                                                                       \
  }
MRC_READDIR_R(readdir_r, dirent)
MRC_READDIR_R(readdir64_r, dirent64)
#undef MRC_READDIR_R

MRC_EXPORT void rewinddir(DIR* dir) noexcept {
  if (Folder* folder = ours(dir))
    folder->at = 0;
  else
    MRC_NEXT(rewinddir, void (*)(DIR*))(dir);
}
MRC_EXPORT long telldir(DIR* dir) noexcept {
  if (const Folder* folder = ours(dir)) return static_cast<long>(folder->at);
  return MRC_NEXT(telldir, long (*)(DIR*))(dir);
}
MRC_EXPORT void seekdir(DIR* dir, long at) noexcept {
  if (Folder* folder = ours(dir))
    folder->at = std::min(static_cast<size_t>(std::max(at, 0L)), folder->entries.size());
  else
    MRC_NEXT(seekdir, void (*)(DIR*, long))(dir, at);
}
MRC_EXPORT int dirfd(DIR* dir) noexcept {
  Folder* const folder = ours(dir);
  if (folder == nullptr) return MRC_NEXT(dirfd, int (*)(DIR*))(dir);
  if (folder->fd < 0) folder->fd = or_enomem(-1, [&] { return mrc::shim::open_folder(folder->path, true); });
  return folder->fd;
}

#define MRC_SCANDIR(name, type)                                                                            \
  MRC_EXPORT int name(const char* path, type*** list, int (*filter)(const type*),                          \
                      int (*compare)(const type**, const type**)) {                                        \
    using Scan = int (*)(const char*, type***, int (*)(const type*), int (*)(const type**, const type**)); \
    const auto next = [&] { return MRC_NEXT(name, Scan)(path, list, filter, compare); };                   \
    if (!mrc::shim::is_watched(path)) return next();                                                       \
    const auto ours = [&] {                                                                                \
      return mrc::shim::find_ours(path) ? scan_watched<type>(path, list, filter, compare) : next();        \
    };                                                                                                     \
    return or_real(ours, next);                                                                            \
  }
MRC_SCANDIR(scandir, dirent)
MRC_SCANDIR(scandir64, dirent64)
#undef MRC_SCANDIR

}  // extern "C"
