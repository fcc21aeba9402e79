// Where --json writes. Opened before anything is measured, so that a long run does not end in "no such directory"; what
// the file contains is kept until a report replaces it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "fd.h"

namespace mrc::tools {

class ReportFile {
 public:
  ReportFile() = default;
  ~ReportFile() {
    if (out_ != nullptr && out_ != stdout) std::fclose(out_);
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  // "-" is standard output, empty nowhere. False and errno when it cannot be written.
  [[nodiscard]] bool open(const std::string& name) {
    if (name.empty()) return true;
    if (name == "-") {
      out_ = stdout;
      return true;
    }
    Fd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!fd) return false;
    out_ = ::fdopen(fd.get(), "w");
    if (out_ == nullptr) return false;
    fd.release();  // fclose() closes it
    return true;
  }

  // Replaces what was written before. False and errno on failure.
  [[nodiscard]] bool write(const std::string& text) {
    if (out_ == nullptr) return true;
    // A pipe has no beginning to go back to, and a device no length; neither needs them.
    if (out_ != stdout && std::fseek(out_, 0, SEEK_SET) == 0 && ::ftruncate(::fileno(out_), 0) != 0 && errno != EINVAL)
      return false;
    return std::fwrite(text.data(), 1, text.size(), out_) == text.size() && std::fflush(out_) == 0;
  }

 private:
  std::FILE* out_ = nullptr;
};

}  // namespace mrc::tools
