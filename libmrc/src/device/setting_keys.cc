#include "device/setting_keys.h"

namespace mrc::device {

Status read_environment(const SettingKeys& keys, GetEnv env) {
  if (keys.former != nullptr)
    for (const FormerSetting& former : *keys.former)
      if (!former.only_key && env(former.environment) != nullptr)
        return invalid(std::string("environment: ") + former.environment + " has been replaced by " + former.now);
  for (const SettingRow* row : keys.rows) {
    const char* value = env(row->environment.c_str());
    if (value == nullptr) continue;
    const std::string origin = "environment: " + row->environment;
    if (Status set = keys.set(*row, value, origin); !set) return std::move(set).error().under(origin + ": ");
  }
  return {};
}

}  // namespace mrc::device
