// Checks a text for Prometheus: help and type before each family's samples, names and labels of allowed characters,
// numbers as values, no sample twice. Empty if it is valid, else the first invalid line.
#pragma once

#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

namespace mrc::mrcd {

inline std::string complaint_about(const std::string& text) {
  std::set<std::string> typed, samples;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string hash, what, name, type;
    if (line.rfind("# ", 0) == 0) {
      words >> hash >> what >> name >> type;
      if (what == "TYPE" &&
          (!typed.insert(name).second || (type != "gauge" && type != "counter" && type != "histogram")))
        return line;
      if (what == "TYPE" && type == "histogram")
        for (const char* part : {"_bucket", "_sum", "_count"}) typed.insert(name + part);
      if (what != "TYPE" && what != "HELP") return line;
      continue;
    }
    size_t at = 0;
    while (at < line.size() && (std::isalnum(static_cast<unsigned char>(line[at])) != 0 || line[at] == '_')) ++at;
    if (typed.count(line.substr(0, at)) == 0) return line;
    if (at < line.size() && line[at] == '{') {
      bool quoted = false;
      for (++at; at < line.size() && (quoted || line[at] != '}'); ++at) {
        if (line[at] == '\\')
          ++at;
        else if (line[at] == '"')
          quoted = !quoted;
      }
      if (at >= line.size()) return line;
      ++at;
    }
    if (!samples.insert(line.substr(0, at)).second) return "twice: " + line;
    char* end = nullptr;
    if (at >= line.size() || line[at] != ' ') return line;
    std::strtod(line.c_str() + at + 1, &end);
    if (*end != 0 || end == line.c_str() + at + 1) return line;
  }
  return typed.empty() ? "no metric at all" : "";
}

}  // namespace mrc::mrcd
