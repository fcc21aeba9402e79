// Configurations as text, with variables that the test sets instead of the process's own.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>

#include "device/config.h"

namespace mrc::testing_config {

// One at a time: a variable is looked up by a function without context (GetEnv).
class ConfigReader {
 public:
  ConfigReader() { reading = this; }

  // Empty when accepted, and `config` is what was read; otherwise the message.
  std::string parse(const std::string& text) { return taken(device::parse_config(text, "f.yaml", variable)); }
  std::string load() { return taken(device::load_config(variable)); }

  std::map<std::string, std::string> env;
  device::Config config;

 private:
  std::string taken(Result<device::Config> result) {
    if (!result) {
      EXPECT_EQ(result.error().code, EINVAL);
      EXPECT_FALSE(result.error().text.empty());
      return result.error().text;
    }
    config = *std::move(result);
    return "";
  }
  static const char* variable(const char* name) {
    const auto it = reading->env.find(name);
    return it == reading->env.end() ? nullptr : it->second.c_str();
  }

  inline static ConfigReader* reading = nullptr;
};

inline constexpr const char* kTwoPlanes =
    "devices:\n"
    "  - name: nic\n"
    "    gids: [fd00:0:1::7, 10.0.0.7]\n"
    "    planes:\n"
    "      - {address: fd00:0:1::7}\n"
    "      - {address: fd00:0:2::7, port: 5000}\n"
    "    peers:\n"
    "      template: \"fd00:0:{plane}::{host}\"\n"
    "      list:\n"
    "        - {gid: fd00:0:1::9, nic: true}\n"
    "        - {gid: fd00:0:1::8, planes: [fd00:9:1::8, \"::\"]}\n"
    "    ev_count: 32\n";

}  // namespace mrc::testing_config
