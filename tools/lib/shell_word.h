// Words of command lines for the shell.
#pragma once

#include <string>

namespace mrc::tools {

// The word in single quotes, which the shell passes on as it is.
inline std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace mrc::tools
