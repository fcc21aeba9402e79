// A command run by the shell, with pipes to its standard input and output.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/line_reader.h"
#include "fd.h"

namespace mrcctl {

class Child {
 public:
  explicit Child(const std::string& command);  // throws Error
  ~Child();                                    // closes its input, waits a moment, then kills it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // None: it has ended, or was silent for this time.
  std::optional<std::string> read_line(int timeout_ms);
  // Its output until it ends, or for this time.
  std::string read_all(int timeout_ms);
  int wait();  // exit status, 128 + signal

 private:
  bool read_some(int timeout_ms);
  pid_t pid_ = -1;
  mrc::Fd in_, out_;
  bool ended_ = false;
  mrc::LineReader lines_;
};

}  // namespace mrcctl
