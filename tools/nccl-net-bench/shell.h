// Other tools, run through the shell.
#pragma once

#include <cstdio>
#include <string>

namespace mrc::net_bench {

// The standard output; *status as of waitpid, -1 where there is no shell.
inline std::string output_of(const std::string& command, int* status) {
  FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  char part[4096];
  for (size_t size; pipe != nullptr && (size = fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, size);
  *status = pipe == nullptr ? -1 : pclose(pipe);
  return text;
}

}  // namespace mrc::net_bench
