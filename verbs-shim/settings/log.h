// The shim's messages on stderr: one line, with the failed call and the reason. Levels as MRC_LOG names them.
#pragma once

namespace mrc::shim {

[[gnu::format(printf, 2, 3)]] void log_error(const char* call, const char* format, ...);
[[gnu::format(printf, 1, 2)]] void log_info(const char* format, ...);

}  // namespace mrc::shim
