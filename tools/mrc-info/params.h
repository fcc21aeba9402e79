// All settings, with the values in force for each device.
#pragma once

#include "devices.h"

namespace mrc::info {

Json describe_params();                        // with the values of the first device of the configuration
std::string setting(const std::string& name);  // value there, as text
// The same with the values of another device, as devices.h describes it.
Json params_of(const Json& device, Json params);
// One entry for each setting; where the devices differ, with the value of each.
void print_params(const Json& params, const Json& devices);

}  // namespace mrc::info
