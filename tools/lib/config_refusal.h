// A program's message when the library has refused the configuration. The library has written the reason to stderr
// already, except with MRC_LOG=off: printed twice, it would look like two errors.
#pragma once

#include <mrc_soft.h>

#include <cstdlib>
#include <string>

#include "secure_environment.h"

namespace mrc::tools {

// Empty: the configuration is not at fault.
inline std::string config_refusal() {
  const char* const why = mrc_soft_config_error();
  if (why == nullptr) return "";
  const char* const level = environment::variable("MRC_LOG");
  const bool silent = level != nullptr && std::string(level) == "off";
  return silent ? std::string("the configuration is refused: ") + why : "the configuration is refused";
}

}  // namespace mrc::tools
