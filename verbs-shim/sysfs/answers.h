// What the files of our devices under /sys/class/infiniband and /sys/class/infiniband_verbs would say if a kernel
// driver stood behind them. [VRB-SYS-1]
#pragma once

#include <cstddef>
#include <string>

namespace mrc::shim {

// Does the path lie below one of the two folders? Cheap: it is asked at every open of the process.
bool is_sysfs_path(const char* path);
// The file's content, with its line's end. False: it is no file of ours.
bool answer(const std::string& path, std::string* content);
// Is it a folder of ours, for example /sys/class/infiniband/mrc0/ports/1?
bool is_folder(const std::string& path);
// As libibverbs reads such files: without the line's end. The length, or -1 when it is none of ours.
int read_answer(const char* path, char* buffer, size_t size);

}  // namespace mrc::shim
