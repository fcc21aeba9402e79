// The log of mrcd: lines on stderr, by spdlog. Information is logged with --verbose alone, warnings always.
#pragma once

#include <string>

namespace mrc::mrcd {

void start_log(bool verbose);
void log_info(const std::string& line);
void log_warning(const std::string& line);

}  // namespace mrc::mrcd
