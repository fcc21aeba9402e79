// Where the report goes as JSON. Opened before anything is measured, so that a long run does not end in "no such
// directory"; what the file held stays until there is a report to put in its place.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mrc::perf {

class JsonFile {
 public:
  // "-" is standard output, empty nowhere. Throws UsageError when the file cannot be written.
  explicit JsonFile(const std::string& name);
  ~JsonFile();
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  // Replaces what was written before. Throws PerfError.
  void write(const nlohmann::json& report);

 private:
  const std::string name_;
  std::FILE* out_ = nullptr;
};

}  // namespace mrc::perf
