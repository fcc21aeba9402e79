// A plugin opened at one ABI version, and pairs of communicators within this process: both ends are driven by one
// thread, as NCCL's proxy of two communicators may do.
//
// Every wait has a limit far above what a busy machine under a sanitizer needs; no test judges by speed.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>

#include "harness/limits.h"
#include "net.h"

namespace mrc::nccl_test {

using nccl_net::kVersions;
using nccl_net::Net;
// For tests that need one version alone.
inline constexpr int kNewest = kVersions[std::size(kVersions) - 1];

inline const auto kLimit = harness::limit(std::chrono::seconds(60));

// The plugin at one version; null, and the test has failed, when it cannot be opened.
std::unique_ptr<Net> open_plugin(int version);

// The plugin's log, for assertions; warnings are also shown.
std::string logged();
// The part of it that NCCL itself would print with NCCL_DEBUG=WARN and no NCCL_DEBUG_SUBSYS.
std::string printed();
void clear_log();
void log_sink(ncclDebugLogLevel level, unsigned long flags, const char* file, int line, const char* format, ...);

// Calls `step` until it is true.
[[nodiscard]] bool eventually(const std::function<bool()>& step, std::chrono::milliseconds limit = kLimit);

struct Buffer {
  std::vector<uint8_t> bytes;
  void* memory = nullptr;  // registration
  void* data() { return bytes.data(); }
};

std::vector<uint8_t> pattern(size_t size, uint32_t seed);

// Two communicators joined; closed by the destructor where the test has not done so.
class Pair {
 public:
  explicit Pair(Net& net, int device = 0) : net_(net), device_(device) {}
  ~Pair();
  // Listens, connects and accepts.
  void join();

  Net& net() { return net_; }
  void* sender() const { return send_; }
  void* receiver() const { return recv_; }
  void close_sender();
  void close_receiver();

  Buffer buffer(bool of_sender, std::vector<uint8_t> bytes);
  void release(bool of_sender, Buffer& buffer);

  // Retries until the plugin takes the request. Null: an error, reported to gtest.
  void* isend(Buffer& from, size_t size, int tag = 0, size_t offset = 0);
  void* irecv(const std::vector<Buffer*>& to, const std::vector<size_t>& sizes, const std::vector<int>& tags);
  void* irecv(Buffer& to, size_t size, int tag = 0) { return irecv({&to}, {size}, {tag}); }
  // Waits; the reported sizes.
  std::vector<int> finish(void* request, int count = 1);
  // The result of the first test call that is an error or done.
  ncclResult_t outcome(void* request, std::chrono::milliseconds limit = kLimit);

 private:
  Net& net_;
  const int device_;
  void *listen_ = nullptr, *send_ = nullptr, *recv_ = nullptr;
};

// Parameter: ABI version.
class NetTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::unique_ptr<Net> net_;
};

}  // namespace mrc::nccl_test
