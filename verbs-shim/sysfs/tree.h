// The content of /sys/class/infiniband and /sys/class/infiniband_verbs for our devices, as if a kernel driver stood
// behind them: folders, files and links, answered from the device at each look. Paths are taken as text: "..", "." and
// double slashes are resolved first. [VRB-SYS-1]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrc::shim {

struct SysfsNode {
  enum class Kind {
    kFile,
    kFolder,
    kLink,  // to a folder, which is followed unless the caller asks for the link itself
  };
  Kind kind;
  std::string content;  // of a file, with its line's end; of a link, its target
  std::string real;  // what the path stands for outside of this tree: the hardware's folder or a file in it; or empty
};

struct SysfsEntry {
  std::string name;
  SysfsNode::Kind kind;
};

// May the path be ours? Cheap: it is asked at every open of the process.
bool is_sysfs_path(const char* path);
// Empty: nothing of ours.
std::optional<SysfsNode> find_node(const std::string& path);
// Entries of a folder of ours, without "." and ".."; those of the two class folders are ours alone.
std::vector<SysfsEntry> list_folder(const std::string& path);
// The path with the links of our devices in the class folders followed: /sys/devices/..., which serves as well.
std::string linked_path(const std::string& path);
// The path without "..", "." and double slashes.
std::string normal_path(const std::string& path);
// Number of the path's inode: programs that walk a tree compare them to find loops.
uint64_t inode_of(const std::string& path);
// As libibverbs reads such files: without the line's end. The length, or -1 when it is none of ours.
int read_answer(const char* path, char* buffer, size_t size);

}  // namespace mrc::shim
