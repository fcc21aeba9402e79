// Recognition of our paths in glibc's functions. Every other path costs the comparison of a prefix. [VRB-SYS-2]
#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <optional>
#include <string>

#include "sysfs/tree.h"

namespace mrc::shim {

// A path that may be ours: /sys/class/infiniband* or /dev/infiniband/*.
bool is_watched(const char* path);
// The watched path of a name relative to a folder; empty when it is none. `folder` is a descriptor of ours
// (open_folder), or one of "/", which is how hwloc opens everything.
std::optional<std::string> watched_at(int folder, const char* path);

// The kind of a watched path. Empty: not ours.
struct OurFile {
  SysfsNode node;
  bool is_device = false;   // /dev/infiniband/uverbsN, or
  bool is_rdma_cm = false;  // /dev/infiniband/rdma_cm
  mode_t mode(bool follow) const;
};
std::optional<OurFile> find_ours(const std::string& path);

// Descriptor of a file with this content, or of a folder: only its path. -1 and errno.
int open_content(const std::string& content, bool close_on_exec);
int open_folder(const std::string& path, bool close_on_exec);
// The path of a descriptor that open_folder made, or a copy of it; empty for any other.
std::optional<std::string> folder_of(int fd);

// The next function of this name, which is glibc's.
template <typename F>
F next_function(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace mrc::shim

// The next function of the name of the function that is being defined.
#define MRC_NEXT(name, ...)                                                        \
  ([]() {                                                                          \
    static const auto next_in_line = mrc::shim::next_function<__VA_ARGS__>(#name); \
    return next_in_line;                                                           \
  }())
