// A fixture with a folder of its own, in which scenario files can be put and loaded.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/helper/output.h"

namespace mrc::sim {

class ScenarioFolder : public testing::Test {
 protected:
  ScenarioFolder() {
    std::string name = testing::TempDir() + "/mrc-sim-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~ScenarioFolder() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) { write_file(folder_ + "/" + name, text); }
  ScenarioFile load(const std::string& yaml, const std::vector<Override>& overrides = {}) {
    write("s.yaml", yaml);
    return load_scenario_file(folder_ + "/s.yaml", overrides);
  }
  // The reason why loading is refused; empty if it is not.
  std::string error_of(const std::string& yaml, const std::vector<Override>& overrides = {}) {
    try {
      load(yaml, overrides);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "";
  }
  std::string folder_;
};

}  // namespace mrc::sim
