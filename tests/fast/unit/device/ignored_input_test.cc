#include "device/ignored_input.h"

#include <gtest/gtest.h>

#include <string>

#include "device/log.h"

namespace mrc::device {
namespace {

using Kind = IgnoredInput::Kind;

// The lines of a level and those more severe, without their prefix "mrc: ".
template <typename F>
std::string logged(LogLevel level, F f) {
  set_log_level(level);
  testing::internal::CaptureStderr();
  f();
  set_log_level(LogLevel::kError);
  return testing::internal::GetCapturedStderr();
}

TEST(IgnoredInput, add__counts_each_and_logs_the_first_of_its_kind) {
  IgnoredInput ignored("added");
  const std::string log = logged(LogLevel::kWarn, [&] {
    ignored.add(Kind::kCall, "first");
    ignored.add(Kind::kCall, "second");
    ignored.add(Kind::kPort, "third");
  });
  EXPECT_EQ(log,
            "mrc: warn: device 'added': ignored a call from mrcd: first; later ones are counted but not logged\n"
            "mrc: warn: device 'added': ignored a port from mrcd: third; later ones are counted but not logged\n");
  EXPECT_EQ(ignored.count(Kind::kCall), 2u);
  EXPECT_EQ(ignored.count(Kind::kPort), 1u);
  EXPECT_EQ(ignored.count(Kind::kMessage), 0u);
}

TEST(IgnoredInput, log_totals__lists_what_was_ignored) {
  IgnoredInput ignored("totals");
  EXPECT_EQ(logged(LogLevel::kInfo, [&] { ignored.log_totals(); }), "");
  for (const Kind kind : {Kind::kPath, Kind::kMessage, Kind::kPath}) ignored.add(kind, "not logged at this level");
  EXPECT_EQ(logged(LogLevel::kInfo, [&] { ignored.log_totals(); }),
            "mrc: info: device 'totals': ignored input from mrcd: message: 1, path change: 2\n");
}

}  // namespace
}  // namespace mrc::device
