#include "device/yaml_reader.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/nearest.h"

namespace mrc::device {

Status YamlReader::document(const std::string& text, const std::function<Status(const YAML::Node& root)>& read) const {
  try {
    return read(YAML::Load(text));
  } catch (const YAML::Exception& e) {
    return invalid(file_ + ":" + std::to_string(e.mark.line + 1) + ": " + e.msg);
  }
}

Status YamlReader::map(const YAML::Node& node, const std::string& what, const std::vector<std::string>& known,
                       const SettingKeys* settings, const Handler& handler) const {
  if (!node.IsMap())
    return refuse(node, what, "allowed: a map" + (known.empty() ? "" : " of " + absl::StrJoin(known, ", ")));
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) return refuse(entry.first, what, "a key must be a word");
    const std::string key = entry.first.Scalar();
    if (!seen.insert(key).second) return at(entry.first, "key '" + key + "' is given twice");
    if (std::find(known.begin(), known.end(), key) != known.end()) {
      if (Status handled = handler(key, entry.second); !handled) return handled;
      continue;
    }
    const SettingRow* row = settings != nullptr ? settings->find(key) : nullptr;
    if (row == nullptr) return unknown(entry.first, key, known, settings);
    if (!entry.second.IsScalar()) return refuse(entry.second, key, "allowed: " + row->allowed());
    const std::string origin = where(entry.second) + ": key '" + key + "'";
    if (Status set = settings->set(*row, entry.second.Scalar(), origin); !set)
      return refuse(entry.second, key, set.error().text);
  }
  return {};
}

Status YamlReader::sequence(const YAML::Node& node, const std::string& key,
                            const std::function<Status(const YAML::Node&)>& each) const {
  if (!node.IsSequence()) return refuse(node, key, "allowed: a list");
  for (const YAML::Node& item : node)
    if (Status taken = each(item); !taken) return taken;
  return {};
}

Status YamlReader::text(const YAML::Node& node, const std::string& key, std::string* out) const {
  if (!node.IsScalar() || node.Scalar().empty()) return refuse(node, key, "allowed: text");
  *out = node.Scalar();
  return {};
}

Status YamlReader::address(const YAML::Node& node, const std::string& key, IpAddress* out) const {
  const std::optional<IpAddress> parsed = node.IsScalar() ? IpAddress::parse(node.Scalar()) : std::nullopt;
  if (!parsed) return refuse(node, key, value_is(node) + "allowed: an IPv6 or IPv4 address");
  *out = *parsed;
  return {};
}

Status YamlReader::flag(const YAML::Node& node, const std::string& key, bool* out) const {
  if (!node.IsScalar() || (node.Scalar() != "true" && node.Scalar() != "false"))
    return refuse(node, key, value_is(node) + "allowed: true or false");
  *out = node.Scalar() == "true";
  return {};
}

Status YamlReader::port(const YAML::Node& node, const std::string& key, uint16_t* out) const {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  const char* end = text.data() + text.size();
  uint16_t port = 0;
  const auto [stopped, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || stopped != end || port == 0)
    return refuse(node, key, value_is(node) + "allowed: 1..65535");
  *out = port;
  return {};
}

Error YamlReader::refuse(const YAML::Node& node, const std::string& key, const std::string& why) const {
  return at(node, "key '" + key + "': " + why);
}

std::string YamlReader::value_is(const YAML::Node& node) {
  return node.IsScalar() ? "value is '" + node.Scalar() + "', " : "";
}

Error YamlReader::at(const YAML::Node& node, const std::string& text) const {
  return invalid(where(node) + ": " + text);
}

std::string YamlReader::where(const YAML::Node& node) const {
  return file_ + ":" + std::to_string(node.Mark().line + 1);
}

Error YamlReader::unknown(const YAML::Node& node, const std::string& key, const std::vector<std::string>& known,
                          const SettingKeys* settings) const {
  std::vector<std::string> candidates = known;
  std::string allowed = absl::StrJoin(known, ", ");
  if (settings != nullptr) {
    if (settings->former != nullptr)
      for (const FormerSetting& former : *settings->former)
        if (key == former.name) return at(node, "key '" + key + "' has been replaced by " + former.now);
    for (const SettingRow* row : settings->rows) candidates.emplace_back(row->name);
    allowed = settings->listed_by.empty() ? absl::StrJoin(candidates, ", ")
                                          : allowed + " and the settings that " + settings->listed_by + " lists";
  }
  const std::string meant = nearest(key, candidates);
  return at(node, "unknown key '" + key + "'" + (meant.empty() ? "." : ", did you mean '" + meant + "'?") +
                      " Allowed: " + allowed);
}

}  // namespace mrc::device
