// Text for XML and HTML: what tools and simulator write into SVG pictures and reports.
#pragma once

#include <string>

namespace mrc::support {

// For the content of elements and for attributes in double quotes.
inline std::string escape_xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace mrc::support
