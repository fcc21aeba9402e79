#include "json_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "error.h"

namespace mrc::perf {

JsonFile::JsonFile(const std::string& name) : name_(name) {
  if (name.empty()) return;
  if (name == "-") {
    out_ = stdout;
    return;
  }
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd >= 0) out_ = ::fdopen(fd, "w");
  if (out_ == nullptr)
    throw UsageError("cannot write " + name + ": " + std::strerror(errno), "choose another file for --json");
}

JsonFile::~JsonFile() {
  if (out_ != nullptr && out_ != stdout) std::fclose(out_);
}

void JsonFile::write(const nlohmann::json& report) {
  if (out_ == nullptr) return;
  // A pipe has no beginning to go back to, and needs none.
  if (out_ != stdout && std::fseek(out_, 0, SEEK_SET) == 0 && ::ftruncate(::fileno(out_), 0) != 0 && errno != EINVAL)
    throw PerfError("cannot write " + name_ + ": " + std::strerror(errno), "choose another file for --json");
  const std::string text = report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size() || std::fflush(out_) != 0)
    throw PerfError("cannot write " + name_ + ": " + std::strerror(errno), "choose another file for --json");
}

}  // namespace mrc::perf
