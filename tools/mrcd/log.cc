#include "log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace mrc::mrcd {

namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> made = [] {
    auto log = std::make_shared<spdlog::logger>("mrcd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    log->set_pattern("%n: %v");  // the journal adds the time
    log->set_level(spdlog::level::warn);
    log->flush_on(spdlog::level::trace);
    return log;
  }();
  return *made;
}

}  // namespace

void start_log(bool verbose) {
  logger().set_level(verbose ? spdlog::level::info : spdlog::level::warn);
}
void log_info(const std::string& line) {
  logger().info(line);
}
void log_warning(const std::string& line) {
  logger().warn(line);
}

}  // namespace mrc::mrcd
