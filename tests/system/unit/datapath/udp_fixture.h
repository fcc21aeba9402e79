// Helpers for tests over real loopback sockets: a datapath with known planes, and waiting for packets without timing
// assertions.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "datapath/udp/udp_datapath.h"
#include "harness/limits.h"
#include "harness/test_burst.h"

namespace mrc::datapath {

// Time as a device gives it.
inline Instant now() {
  return Instant::from_ns(std::chrono::steady_clock::now().time_since_epoch().count());
}

// A received burst with its bytes copied out.
struct Got {
  wire::Flow flow;
  PlaneId plane;
  uint32_t segment_size = 0;
  std::vector<uint8_t> bytes;
};

inline IpAddress loopback(bool v4) {
  return IpAddress::parse(v4 ? "127.0.0.1" : "::1").value();
}

inline UdpConfig loopback_config(bool v4, uint32_t planes, uint32_t evs) {
  UdpConfig config;
  config.planes.resize(planes);
  for (HostPlane& p : config.planes) p.addr = loopback(v4);
  config.evs = auto_evs(evs, planes);
  return config;
}

inline std::unique_ptr<UdpDatapath> open_or_fail(const UdpConfig& config) {
  auto dp = UdpDatapath::open(config);
  EXPECT_TRUE(dp) << dp.error().text;
  return dp ? *std::move(dp) : nullptr;
}

// Why it does not open; no error when it does.
inline Error refusal(const UdpConfig& config) {
  const auto dp = UdpDatapath::open(config);
  EXPECT_FALSE(dp);
  return dp ? Error() : dp.error();
}

// Receives until `packets` packets have come or nothing has come for as long as a busy machine may need.
inline std::vector<Got> receive(Datapath& dp, uint64_t packets, int batch = 8) {
  std::vector<Got> all;
  std::vector<core::RxBurst> bursts(static_cast<size_t>(batch));
  uint64_t got = 0;
  while (got < packets) {
    int n = dp.rx_burst(Instant(), bursts.data(), batch);
    for (int i = 0; i < n; ++i) {
      const core::RxBurst& b = bursts[static_cast<size_t>(i)];
      all.push_back({b.flow, b.plane, b.segment_size, {b.data, b.data + b.bytes}});
      got += b.segments();
    }
    if (n > 0) continue;
    pollfd wait{-1, POLLIN, 0};
    EXPECT_EQ(dp.wait_fds(&wait.fd, 1), 1);
    if (::poll(&wait, 1, harness::limit_ms(2000)) == 0) break;
  }
  return all;
}

inline std::vector<uint8_t> joined(const std::vector<Got>& all) {
  std::vector<uint8_t> bytes;
  for (const Got& g : all) bytes.insert(bytes.end(), g.bytes.begin(), g.bytes.end());
  return bytes;
}

}  // namespace mrc::datapath
