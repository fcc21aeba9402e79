// Messages on stderr for people: refusals, and limits to raise. Silent by default; MRC_LOG sets the lowest severity.
// Nothing is logged per packet. Any thread.
#pragma once

#include <string>

#include "device/setting_words.h"

namespace mrc::device {

void set_log_level(LogLevel level);
bool logs(LogLevel level);
// One line, "mrc: warn: text".
void log_line(LogLevel level, const std::string& text);
// The same, but only the first time in this process that this text is logged.
void log_once(LogLevel level, const std::string& text);

}  // namespace mrc::device
