// Devices of several engines, where there can be one only.
#include "device/shards.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "fd.h"
#include "in_child.h"

namespace mrc::device {
namespace {

// Once for the device and without a level set in MRC_LOG: with few descriptors other users may fail its queue pairs
// [MRC-SEC-12]. In a process of its own, because without a privilege the limit is never raised again.
TEST(Shards, start__reports_source_ports_that_are_not_held) {
  harness::in_child([] {
    const rlimit limit{300, 300};  // two engines' sockets, without the guards
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    Settings settings;
    settings.shards = 2;
    settings.publish = "";
    settings.mrcd_socket = "";
    testing::internal::CaptureStderr();
    const auto started = Shards::start(loopback_config(settings, false));
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(started);
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
    EXPECT_NE(log.find("from 80 of 80 source ports"), std::string::npos) << log;
    EXPECT_NE(log.find("limit of descriptors is 300: ulimit -n 1024"), std::string::npos) << log;
  });
}

// A device of which the first engine alone finds a slot: all others are taken.
class ShardsWithoutSlots : public ::testing::Test {
 protected:
  void SetUp() override {
    Settings settings;
    settings.second_port = 0;
    settings.publish = "";
    config_ = loopback_config(settings, false);
    config_.line_rate_gbps = 400;
    for (PlaneConfig& plane : config_.planes) plane.port = 0, plane.port_base = 0;
    sockaddr_in addr{};
    addr.sin_family = AF_INET;
    const std::string text = config_.planes[0].addr.to_string();
    ASSERT_EQ(::inet_pton(AF_INET, text.c_str(), &addr.sin_addr), 1) << text;
    for (uint16_t base = 20000; base < 60000 && blocked_.size() < 63; base += 100) {
      blocked_.clear();
      config_.planes[0].port_base = base;
      for (uint16_t slot = 1; slot < 64; ++slot) {
        Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        addr.sin_port = htons(static_cast<uint16_t>(base + slot));
        if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&addr), sizeof addr) != 0) break;
        blocked_.push_back(std::move(fd));
      }
    }
    ASSERT_EQ(blocked_.size(), 63u);
    config_.planes[0].port = static_cast<uint16_t>(config_.planes[0].port_base + 64);
  }
  DeviceConfig config_;
  std::vector<Fd> blocked_;
};

TEST_F(ShardsWithoutSlots, a_number_that_cannot_be_opened_is_an_error_that_names_the_setting) {
  config_.settings.shards = 2;
  const auto shards = Shards::start(config_);
  ASSERT_FALSE(shards);
  EXPECT_EQ(shards.error().code, EADDRINUSE);
  EXPECT_NE(shards.error().text.find("shards: engine 2 of 2"), std::string::npos) << shards.error().text;
}

TEST_F(ShardsWithoutSlots, an_automatic_number_is_that_of_the_engines_that_opened) {
  config_.settings.shards = 0;
  const auto shards = Shards::start(config_);
  ASSERT_TRUE(shards) << shards.error().text;
  EXPECT_EQ((*shards)->size(), 1u);
}

}  // namespace
}  // namespace mrc::device
