// An open folder that closes itself.
#pragma once

#include <dirent.h>

#include <memory>

namespace mrc {

class Folder {
 public:
  explicit Folder(const char* path) : dir_(::opendir(path)) {}
  // The next entry, "." and ".." among them, valid until the call after. Null: there is no more, or no such folder.
  const dirent* next() { return dir_ != nullptr ? ::readdir(dir_.get()) : nullptr; }

 private:
  struct Close {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  std::unique_ptr<DIR, Close> dir_;
};

}  // namespace mrc
