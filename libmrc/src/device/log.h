// Messages on stderr for people: refusals, and limits to raise. MRC_LOG sets the lowest severity; without it only
// errors are written. Nothing is logged per packet. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "device/setting_words.h"

namespace mrc::device {

// Different texts that log_once() writes: they contain addresses of peers, of which there is no end.
inline constexpr size_t kMaxLoggedOnce = 1024;

void set_log_level(LogLevel level);
bool logs(LogLevel level);
// One line, "mrc: warn: text".
void log_line(LogLevel level, const std::string& text);
// The same, but only the first time in this process that this text is logged. After kMaxLoggedOnce different ones a
// last line reports that others are no longer written.
void log_once(LogLevel level, const std::string& text);

}  // namespace mrc::device
