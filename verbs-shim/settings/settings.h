// Settings of the shim, declared once: name, default, sentence. They come from the environment, MRC_ and the name in
// capitals; settings of the transport are libmrc's (spec/settings.md). Documented in
// spec/verbs.md.
#pragma once

#include <string>
#include <vector>

namespace mrc::shim {

// TEXT(member, variable, default, sentence)
#define MRC_SHIM_SETTINGS(TEXT)                                                                    \
  TEXT(provider, "MRC_PROVIDER", "", "MRC library to use, by path or name; empty: libmrc.so.1")    \
  TEXT(devices, "MRC_SHIM_DEVICES", "all",                                                         \
       "Software devices that verbs programs see: names separated by commas, \"all\" or \"none\"") \
  TEXT(log, "MRC_LOG", "error", "Lowest severity of messages written to stderr: off, error, warn, info or debug")

struct Settings {
#define MRC_SHIM_SETTING(member, variable, value, sentence) std::string member = value;
  MRC_SHIM_SETTINGS(MRC_SHIM_SETTING)
#undef MRC_SHIM_SETTING

  bool shows(const char* device) const;           // by `devices`
  std::vector<std::string> device_names() const;  // in `devices`; none of "all" and "none"
};

// Read from the environment at the first call.
const Settings& settings();

}  // namespace mrc::shim
