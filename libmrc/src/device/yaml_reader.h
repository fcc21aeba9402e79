// YamlReader: reads maps, lists and values of a YAML file strictly. Every violation is refused with EINVAL and a
// message that names file, line, key, value and the allowed values.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "device/setting_keys.h"
#include "result.h"

namespace mrc::device {

class YamlReader {
 public:
  // `file`: the name for messages; it outlives the reader.
  explicit YamlReader(const std::string& file) : file_(file) {}

  using Handler = std::function<Status(const std::string& key, const YAML::Node& value)>;

  // Parses the text and calls `read` with its root. What the YAML parser refuses is refused with its line.
  Status document(const std::string& text, const std::function<Status(const YAML::Node& root)>& read) const;
  // Calls the handler for every key that is in `known` or, when `settings` is given, sets the setting of that name.
  // `what`: the key of the map.
  Status map(const YAML::Node& node, const std::string& what, const std::vector<std::string>& known,
             const SettingKeys* settings, const Handler& handler) const;
  Status sequence(const YAML::Node& node, const std::string& key,
                  const std::function<Status(const YAML::Node&)>& each) const;

  // The value of a key, into *out; these are handlers' last statements.
  Status text(const YAML::Node& node, const std::string& key, std::string* out) const;
  Status address(const YAML::Node& node, const std::string& key, IpAddress* out) const;
  Status flag(const YAML::Node& node, const std::string& key, bool* out) const;
  Status port(const YAML::Node& node, const std::string& key, uint16_t* out) const;

  Error refuse(const YAML::Node& node, const std::string& key, const std::string& why) const;
  static std::string value_is(const YAML::Node& node);

 private:
  Error at(const YAML::Node& node, const std::string& text) const;
  std::string where(const YAML::Node& node) const;
  Error unknown(const YAML::Node& node, const std::string& key, const std::vector<std::string>& known,
                const SettingKeys* settings) const;

  const std::string& file_;
};

}  // namespace mrc::device
