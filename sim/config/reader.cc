#include "sim/config/reader.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <sstream>

#include "base/nearest.h"

namespace mrc::sim {
namespace {

std::string shown(double v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

// Only for messages, so nothing is kept to find it faster; the limit is for trees that repeat themselves by aliases.
bool contains(const YAML::Node& root, const YAML::Node& node) {
  constexpr size_t kMaxNodes = 100000;
  std::vector<YAML::Node> found{root};
  for (size_t i = 0; i < found.size() && i < kMaxNodes; ++i) {
    const YAML::Node n = found[i];
    if (n.is(node)) return true;
    for (const auto& entry : n) {
      if (n.IsMap()) {
        found.push_back(entry.first);
        found.push_back(entry.second);
      } else {
        found.push_back(entry);
      }
    }
  }
  return false;
}

}  // namespace

std::string Source::place(const YAML::Node& node) const {
  std::string name = file_;
  bool has_lines = true;
  for (const Part& p : parts_)
    if (p.root.is(node) || (p.whole && contains(p.root, node))) {
      name = p.place;
      has_lines = p.has_lines;
    }
  const int line = node.Mark().line;  // -1: made by us
  return has_lines && line >= 0 ? name + ":" + std::to_string(line + 1) : name;
}

void refuse(const Source& source, const YAML::Node& node, const std::string& text) {
  throw ConfigError(source.place(node) + ": " + text);
}

void refuse_value(const Source& source, const YAML::Node& node, const std::string& key, const std::string& allowed) {
  refuse(source, node,
         "key '" + key + "': " + (node.IsScalar() ? "value is '" + node.Scalar() + "', " : "") + "allowed: " + allowed);
}

YAML::Node load_yaml(const Source& source, const std::string& text) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& e) {
    throw ConfigError(source.place(YAML::Node()) + ":" + std::to_string(e.mark.line + 1) + ": " + e.msg);
  }
}

std::string read_file(const std::string& path, size_t max) {
  Result<std::string> text = read_text_file(path, max);
  if (!text) throw ConfigError(path + ": cannot be read: " + text.error().text);
  return *std::move(text);
}

MapReader::MapReader(const YAML::Node& node, std::string what, const Source& source)
    : node_(node.IsDefined() && !node.IsNull() ? node : YAML::Node(YAML::NodeType::Map)),
      what_(std::move(what)),
      source_(source) {
  if (!node_.IsMap()) refuse(source_, node_, "'" + what_ + "' must be a map of keys and values");
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar()) refuse(source_, entry.first, "a key must be a word");
    if (!seen.insert(entry.first.Scalar()).second)
      refuse(source_, entry.first, "key '" + entry.first.Scalar() + "' is given twice");
  }
}

YAML::Node MapReader::get(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  const YAML::Node& constant = node_;  // operator[] on a mutable node would add the key
  return constant[key];
}

bool MapReader::has(const std::string& key) {
  return get(key).IsDefined();
}

std::string MapReader::scalar(const std::string& key, const YAML::Node& node, const std::string& allowed) {
  if (!node.IsScalar() || node.Scalar().empty()) refuse_value(source_, node, key, allowed);
  return node.Scalar();
}

void MapReader::bad(const std::string& key, const std::string& allowed) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) refuse(source_, node_, "key '" + key + "': allowed: " + allowed);  // the default does not do here
  refuse_value(source_, n, key, allowed);
}

void MapReader::missing(const std::string& key) {
  refuse(source_, node_, "'" + what_ + "' needs the key '" + key + "'");
}

bool MapReader::text(const std::string& key, std::string* out) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  *out = scalar(key, n, "text");
  return true;
}

bool MapReader::flag(const std::string& key, bool* out) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  const std::string s = scalar(key, n, "true or false");
  if (s != "true" && s != "false") bad(key, "true or false");
  *out = s == "true";
  return true;
}

bool MapReader::integer(const std::string& key, int64_t* out, int64_t low, int64_t high) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  const std::string allowed = "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  const std::string s = scalar(key, n, allowed);
  char* end = nullptr;
  errno = 0;
  const long long v = std::strtoll(s.c_str(), &end, 0);
  if (*end != 0 || errno == ERANGE || v < low || v > high) bad(key, allowed);
  *out = v;
  return true;
}

bool MapReader::number(const std::string& key, double* out, double low, double high) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  const std::string allowed = "a number from " + shown(low) + " to " + shown(high) + ", or as a percentage";
  const auto v = parse_number(scalar(key, n, allowed));
  if (!v || *v < low || *v > high) bad(key, allowed);
  *out = *v;
  return true;
}

bool MapReader::time(const std::string& key, Ps* out, Ps low, Ps high) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  std::string allowed = "a time with its unit, such as 500ns, 10us, 1.5ms, 2s";
  if (low > 0) allowed += ", at least " + format_time(low);
  if (high < INT64_MAX) allowed += ", at most " + format_time(high);
  const auto v = parse_time(scalar(key, n, allowed));
  if (!v || *v < low || *v > high) bad(key, allowed);
  *out = *v;
  return true;
}

bool MapReader::rate(const std::string& key, double* out, double low, double high) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  const std::string allowed = "a rate such as 100G, from " + format_rate(low) + " to " + format_rate(high);
  const auto v = parse_rate(scalar(key, n, allowed));
  if (!v || *v < low || *v > high) bad(key, allowed);
  *out = *v;
  return true;
}

bool MapReader::bytes(const std::string& key, int64_t* out, int64_t low, int64_t high) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  const std::string allowed =
      "a size such as 4096, 64KiB or 2MB, from " + std::to_string(low) + " to " + std::to_string(high) + " bytes";
  const auto v = parse_bytes(scalar(key, n, allowed));
  if (!v || *v < low || *v > high) bad(key, allowed);
  *out = *v;
  return true;
}

bool MapReader::size(const std::string& key, Size* out) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  const std::string allowed =
      "a size such as 64KiB, or a multiple of the plane's bandwidth-delay product such as 0.2bdp";
  const auto v = parse_size(scalar(key, n, allowed));
  if (!v) bad(key, allowed);
  *out = *v;
  return true;
}

bool MapReader::choice(const std::string& key, const std::vector<std::string>& allowed, std::string* out) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  const std::string s = scalar(key, n, absl::StrJoin(allowed, ", "));
  if (std::find(allowed.begin(), allowed.end(), s) == allowed.end()) bad(key, absl::StrJoin(allowed, ", "));
  *out = s;
  return true;
}

bool MapReader::each(const std::string& key, const std::function<void(const YAML::Node&)>& item) {
  const YAML::Node n = get(key);
  if (!n.IsDefined()) return false;
  if (!n.IsSequence()) bad(key, "a list");
  for (const YAML::Node& entry : n) item(entry);
  return true;
}

void MapReader::finish() {
  for (const auto& entry : node_) {
    const std::string& key = entry.first.Scalar();
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string meant = nearest(key, known_);
    refuse(source_, entry.first,
           "unknown key '" + key + "' in '" + what_ + "'" + (meant.empty() ? "." : ", did you mean '" + meant + "'?") +
               " Allowed: " + absl::StrJoin(known_, ", "));
  }
}

}  // namespace mrc::sim
