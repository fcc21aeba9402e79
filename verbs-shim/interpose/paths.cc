#include "interpose/paths.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "fd.h"
#include "objects/device.h"

namespace mrc::shim {

namespace {

constexpr char kDevices[] = "/dev/infiniband/";
constexpr char kRdmaCm[] = "/dev/infiniband/rdma_cm";
constexpr char kSysfs[] = "/sys/class/infiniband";
// The name of a folder's descriptor carries the path: it outlives dup, fork and exec without a table.
constexpr char kFolderName[] = "mrc-folder:";
std::atomic<bool> folders_opened{false};

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// The link of a descriptor in /proc; empty if it is none.
std::string name_of(int fd) {
  using ReadLink = ssize_t (*)(const char*, char*, size_t);
  char link[64], target[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = MRC_NEXT(readlink, ReadLink)(link, target, sizeof target);
  return n > 0 ? std::string(target, static_cast<size_t>(n)) : "";
}

int make_file(const char* name, const std::string& content, bool close_on_exec) {
  Fd fd(memfd_create(name, close_on_exec ? MFD_CLOEXEC : 0));
  if (!fd) return -1;
  if (write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    errno = EIO;
    return -1;
  }
  lseek(fd.get(), 0, SEEK_SET);
  return fd.release();
}

}  // namespace

bool is_watched(const char* path) {
  return is_sysfs_path(path) || (path != nullptr && starts_with(path, kDevices));
}

std::optional<std::string> watched_at(int folder, const char* path) {
  if (path == nullptr) return std::nullopt;
  if (path[0] == '/') return is_watched(path) ? std::optional<std::string>(path) : std::nullopt;
  if (folder < 0) return std::nullopt;
  if (starts_with(path, kSysfs + 1)) {
    if (name_of(folder) == "/") return std::string("/") + path;
    return std::nullopt;
  }
  const auto base = folder_of(folder);
  return base ? std::optional<std::string>(*base + "/" + path) : std::nullopt;
}

mode_t OurFile::mode(bool follow) const {
  if (is_device) return S_IFCHR | 0666;
  switch (node.kind) {
    case SysfsNode::Kind::kFile:
      return S_IFREG | 0444;
    case SysfsNode::Kind::kLink:
      if (!follow) return S_IFLNK | 0777;
      [[fallthrough]];
    default:
      return S_IFDIR | 0755;
  }
}

std::optional<OurFile> find_ours(const std::string& path) {
  if (starts_with(path.c_str(), kDevices)) {
    if (path == kRdmaCm && !devices().empty()) return OurFile{{SysfsNode::Kind::kFile, "", ""}, true, true};
    if (device_by_uverbs(path.c_str() + sizeof kDevices - 1) == nullptr) return std::nullopt;
    return OurFile{{SysfsNode::Kind::kFile, "", ""}, true};
  }
  auto node = find_node(path);
  if (!node) return std::nullopt;
  return OurFile{std::move(*node), false};
}

int open_content(const std::string& content, bool close_on_exec) {
  return make_file("mrc-verbs", content, close_on_exec);
}

int open_folder(const std::string& path, bool close_on_exec) {
  folders_opened.store(true, std::memory_order_relaxed);
  return make_file((kFolderName + normal_path(path)).c_str(), "", close_on_exec);
}

std::optional<std::string> folder_of(int fd) {
  if (!folders_opened.load(std::memory_order_relaxed)) return std::nullopt;
  const std::string name = name_of(fd);
  const std::string start = std::string("/memfd:") + kFolderName;
  if (!starts_with(name.c_str(), start.c_str())) return std::nullopt;
  constexpr char kEnd[] = " (deleted)";
  const size_t length = name.size() - start.size();
  return name.substr(start.size(), length - std::min(length, sizeof kEnd - 1));
}

}  // namespace mrc::shim
