// SettingKeys: a table of settings as seen by the readers of the configuration file and of the environment, without the
// struct that holds the values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/setting.h"

namespace mrc::device {

// The environment; injected so that tests need not change the real one.
using GetEnv = const char* (*)(const char* name);

// A setting of an earlier version. `now` is the replacement, as a key with its value.
struct FormerSetting {
  const char* name;
  const char* environment;
  const char* now;
  bool only_key = false;  // the environment variable is still read
};

struct SettingKeys {
  std::vector<const SettingRow*> rows;
  // `origin`: where the text stands, as in a message.
  std::function<Status(const SettingRow& row, const std::string& text, const std::string& origin)> set;
  const std::vector<FormerSetting>* former = nullptr;
  std::string listed_by;  // for messages: the command that lists them; empty: the messages list them

  const SettingRow* find(const std::string& name) const {
    for (const SettingRow* row : rows)
      if (name == row->name) return row;
    return nullptr;
  }
};

// The keys of a table whose struct has `origins`.
template <typename S>
SettingKeys keys_of(const std::vector<TypedSetting<S>>& table, S* settings) {
  SettingKeys keys;
  for (const TypedSetting<S>& row : table) keys.rows.push_back(&row);
  keys.set = [settings](const SettingRow& row, const std::string& text, const std::string& origin) -> Status {
    if (Status set = static_cast<const TypedSetting<S>&>(row).set(text, settings); !set) return set;
    settings->origins[row.name] = origin;
    return {};
  };
  return keys;
}

// Sets what the environment gives. The error names the variable and the allowed values.
Status read_environment(const SettingKeys& keys, GetEnv env);

}  // namespace mrc::device
