// All settings, with the values in force here.
#pragma once

#include "devices.h"

namespace mrc::info {

Json describe_params();
std::string setting(const std::string& name);  // value in force, as text
void print_params(const Json& params);

}  // namespace mrc::info
