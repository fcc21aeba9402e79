#include "device/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace mrc::device {
namespace {

// In a child, because the texts are remembered for the process.
TEST(LogDeathTest, log_once__writes_a_bounded_number_of_texts_once_each) {
  const auto fill = [] {
    set_log_level(LogLevel::kWarn);
    log_once(LogLevel::kInfo, "not written at this level, and not counted");
    for (size_t i = 0; i < kMaxLoggedOnce - 1; ++i) log_once(LogLevel::kWarn, "text " + std::to_string(i));
    log_once(LogLevel::kWarn, "text 0");
    log_once(LogLevel::kWarn, "the last");
    log_once(LogLevel::kWarn, "one more");
    log_line(LogLevel::kWarn, "other lines are not bounded");
    std::_Exit(0);
  };
  EXPECT_EXIT(fill(), testing::ExitedWithCode(0),
              "mrc: warn: text 0\nmrc: warn: text 1\n.*text 1022\nmrc: warn: the last\n"
              "mrc: warn: these were 1024 different messages [^\n]*\nmrc: warn: other lines are not bounded\n$");
}

}  // namespace
}  // namespace mrc::device
