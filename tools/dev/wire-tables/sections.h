// The sections of text that follow from the field tables. A file holds a section between a line that contains
// "[wire-tables NAME]" and one that contains "[end of NAME]".
#pragma once

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "wire/layout.h"

namespace mrc::tools {

// Lua for the dissector: "values", "opcodes" and "headers". Empty when there is no section of that name.
std::optional<std::string> lua_section(const std::string& name);

// Markdown for spec/wire.md: "opcode table", and "fields of BTH" and so on.
std::optional<std::string> markdown_section(const std::string& name);

// A header's name in filters: cc_state, seth.
inline std::string header_key(const wire::HeaderInfo& header) {
  std::string key = header.name;
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
  return key;
}

}  // namespace mrc::tools
