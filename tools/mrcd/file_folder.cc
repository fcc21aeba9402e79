#include "file_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace mrc::mrcd {

namespace {

// With the slash at its end; empty: the current folder.
std::string folder_of(const std::string& file) {
  return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

Status have_folder(const std::string& file, const std::string& standard, const std::string& setting,
                   const std::string& option) {
  const std::string folder = folder_of(file);
  if (folder.empty()) return {};
  if (folder == folder_of(standard)) ::mkdir(folder.c_str(), 0755);
  struct stat there;
  const int error = ::stat(folder.c_str(), &there) != 0 ? errno : S_ISDIR(there.st_mode) ? 0 : ENOTDIR;
  if (error == 0) return {};
  return Error{error, "the folder of '" + file + "' cannot be used: " + std::strerror(error) +
                          "; create it (mkdir -p " + folder + "), or name another file by " + option +
                          " or the setting " + setting};
}

}  // namespace mrc::mrcd
