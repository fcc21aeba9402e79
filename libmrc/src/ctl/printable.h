// Text of other processes that ends on a terminal or in a log: control characters could forge lines and move the
// cursor. Plain functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace mrc::ctl {

// Control characters of ASCII, and those of ISO 6429 that UTF-8 has as C2 80 to C2 9F.
inline size_t control_at(std::string_view text, size_t from = 0) {
  for (size_t i = from; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return i;
    if (c == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80) return i + 1;
  }
  return std::string_view::npos;
}

inline bool is_printable(std::string_view text) {
  return control_at(text) == std::string_view::npos;
}

// With '?' in place of each.
inline std::string printable(std::string text) {
  for (size_t at = 0; (at = control_at(text, at)) != std::string::npos;) {
    if ((static_cast<unsigned char>(text[at]) & 0x80) != 0) text.erase(--at, 1);  // both bytes become one
    text[at] = '?';
  }
  return text;
}

}  // namespace mrc::ctl
