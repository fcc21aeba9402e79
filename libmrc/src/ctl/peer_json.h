// JSON from an untrusted peer. Copying and writing a value recurses for every level of it, so a few hundred
// kilobytes of brackets would overflow the reader's stack: text deeper than any valid message is refused before it is
// parsed. [MRC-MRCD-2]
//
// Not by a callback of the parser: with one, each object's end goes through all that its array has already.
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace mrc::ctl {

inline constexpr int kMaxJsonDepth = 32;

// Levels of arrays and objects, of text that is JSON as far as it goes.
inline int json_depth(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      i += c == '\\';
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// A discarded value when the text is no JSON, or is too deep.
inline nlohmann::json parse_peer_json(std::string_view text) {
  if (json_depth(text) > kMaxJsonDepth) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
}

}  // namespace mrc::ctl
