// Names of events and triggers on the command line, and the message for an unknown one.
#pragma once

#include <string>
#include <vector>

namespace mrc::log {

std::vector<std::string> event_names();
std::vector<std::string> trigger_names();
// Empty for a known name, else a sentence with the nearest one.
std::string complaint(const std::string& name, const std::vector<std::string>& known);

}  // namespace mrc::log
