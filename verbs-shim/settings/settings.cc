#include "settings/settings.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "secure_environment.h"

namespace mrc::shim {

namespace {

Settings from_environment() {
  Settings s;
#define MRC_SHIM_SETTING(member, name, value, sentence) \
  if (const char* text = environment::variable(name)) s.member = text;
  MRC_SHIM_SETTINGS(MRC_SHIM_SETTING)
#undef MRC_SHIM_SETTING
  return s;
}

}  // namespace

std::vector<std::string> Settings::device_names() const {
  std::vector<std::string> all;
  if (devices == "all" || devices == "none") return all;
  std::istringstream names(devices);  // a preloaded library links no abseil
  for (std::string name; std::getline(names, name, ',');) all.push_back(name);
  return all;
}

bool Settings::shows(const char* device) const {
  const std::vector<std::string> names = device_names();
  return devices == "all" || std::find(names.begin(), names.end(), device) != names.end();
}

const Settings& settings() {
  // Never destroyed: programs call verbs from destructors that run at exit.
  static const Settings* const s = new Settings(from_environment());
  return *s;
}

}  // namespace mrc::shim
