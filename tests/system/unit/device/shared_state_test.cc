// Messages of a daemon that a device cannot use. [MRC-MRCD-4..6]
#include "device/shared_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "asking_daemon.h"
#include "device/log.h"
#include "device_fixture.h"

namespace mrc::device {
namespace {

int occurrences(const std::string& text, std::string_view part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

// Each kind is sent twice. The report that follows shows that all of it was read, and that the device works on.
TEST(SharedState, on_message__reports_each_kind_of_ignored_input_once) {
  AskingDaemon daemon;
  DeviceConfig config = test_config();
  config.settings.mrcd_socket = daemon.path();
  const std::shared_ptr<Device> device = start(config);
  ASSERT_TRUE(device);
  daemon.accept();
  set_log_level(LogLevel::kWarn);
  testing::internal::CaptureStderr();
  for (const char* const line :
       {"[1]", "no JSON", R"({"state": 5})", R"({"want": "all"})", R"({"call": {"kind": "other"}})", R"({"call": 5})",
        R"({"denies": [{"plane": 33}]})", R"({"denies": [{}, {"ev": "port"}]})", R"({"ports_down": [5]})",
        R"({"ports_down": [0, 1]})", R"({"path": {"profile": 1, "ev": "0g", "port": 1, "state": 1, "losses": 0}})",
        R"({"path": {"profile": 1, "ev": "03", "port": 1, "state": 4, "losses": 0}})", R"({"of_a_newer_daemon": 5})"})
    daemon.send(line);
  daemon.ask(7);
  const auto answer = daemon.report();
  const std::string log = testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::kError);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->token, 7u);
  EXPECT_EQ(occurrences(log, "ignored a"), 6) << log;
  for (const char* const kind :
       {"ignored a line from mrcd", "ignored a message from mrcd: malformed", "ignored a call from mrcd",
        "ignored a deny rule from mrcd: a plane is a number from 1 to 32",
        "ignored a port from mrcd: 5, this device has ports 1 to 4", "ignored a path change from mrcd: '0g' is no EV"})
    EXPECT_EQ(occurrences(log, kind), 1) << kind << "\n" << log;
  ASSERT_EQ(answer->data.ports.size(), 4u);
  EXPECT_FALSE(answer->data.ports[0].up) << "the valid port of the list";
  EXPECT_TRUE(answer->data.ports[1].up);
}

}  // namespace
}  // namespace mrc::device
