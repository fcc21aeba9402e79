// The trace file: RFC 7464 records, a header first; nothing waits for it, and what it could not take it counts.
#include "device/trace_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "device_fixture.h"

namespace mrc::device {
namespace {

using core::TraceEntry;
using core::TraceEvent;
using core::TraceTrigger;
using nlohmann::json;

class TraceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mrc-trace-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const std::string& path : made_) ::unlink(path.c_str());
    EXPECT_EQ(::rmdir(folder_.c_str()), 0) << "a file that no test knows of";
  }
  std::unique_ptr<TraceFile> open(const std::string& name, size_t entries = 64, std::string* error = nullptr) {
    auto file = TraceFile::open(folder_ + name, {"mrc0", R"({"ev_count":"16"})"}, entries);
    if (!file) {
      if (error != nullptr) *error = file.error().text;
      return nullptr;
    }
    made_.push_back((*file)->path());
    return *std::move(file);
  }
  // Records of a file: each begins with RS, ends with LF and is JSON.
  static std::vector<json> records(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::vector<json> found;
    for (size_t at = 0; at < all.size();) {
      EXPECT_EQ(all[at], '\x1e');
      const size_t end = all.find('\n', at);
      EXPECT_NE(end, std::string::npos);
      found.push_back(json::parse(all.substr(at + 1, end - at - 1)));
      at = end + 1;
    }
    return found;
  }
  static TraceEntry sent(uint64_t psn) {
    return TraceEntry::of(
        Instant::from_ns(static_cast<int64_t>(psn) * 1000), Qpn(5), TraceTrigger::kNone,
        core::event::TxData{.psn = Psn(static_cast<uint32_t>(psn)), .ev = 50000, .plane = 1_plane, .size = 4160});
  }
  std::string folder_;
  std::vector<std::string> made_;
};

TEST_F(TraceFileTest, header_then_events) {
  auto file = open("/a.sqlog");
  ASSERT_NE(file, nullptr);
  for (uint64_t psn = 0; psn < 3; ++psn) file->on_trace(sent(psn));
  file->finish();
  const auto all = records(folder_ + "/a.sqlog");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
  EXPECT_EQ(all[0]["serialization_format"], "application/qlog+json-seq");
  EXPECT_EQ(all[0]["trace"]["common_fields"]["reference_time"]["clock_type"], "monotonic");
  EXPECT_EQ(all[0]["trace"]["mrc_settings"]["ev_count"], "16");
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(all[i]["name"], "mrc:packet_sent");
    EXPECT_EQ(all[i]["data"]["psn"], i - 1);
  }
}

TEST_F(TraceFileTest, a_full_ring_loses_and_says_so) {
  auto file = open("/a.sqlog", 16);
  for (uint64_t psn = 0; psn < 20; ++psn) file->on_trace(sent(psn));
  EXPECT_EQ(file->lost(), 4u);
  file->drain();
  for (uint64_t psn = 20; psn < 36; ++psn) file->on_trace(sent(psn));
  file->drain();
  EXPECT_EQ(file->lost(), 4u) << "after draining there is room for sixteen again";
  const auto all = records(file->path());
  ASSERT_EQ(all.size(), 1u + 16 + 1 + 16);
  EXPECT_EQ(all[17]["name"], "mrc:events_lost");
  EXPECT_EQ(all[17]["data"]["count"], 4);
  EXPECT_EQ(all[18]["data"]["psn"], 20);
}

TEST_F(TraceFileTest, losses_at_the_end_are_said_at_the_end) {
  auto file = open("/a.sqlog", 16);
  for (uint64_t psn = 0; psn < 19; ++psn) file->on_trace(sent(psn));
  file->finish();
  const auto all = records(file->path());
  ASSERT_EQ(all.size(), 1u + 16 + 1);
  EXPECT_EQ(all[17]["name"], "mrc:events_lost");
  EXPECT_EQ(all[17]["data"]["count"], 3);
  EXPECT_EQ(all[17]["time"], all[16]["time"]);
}

TEST_F(TraceFileTest, more_than_one_buffer_of_text) {
  auto file = open("/a.sqlog", 1 << 13);
  for (uint64_t psn = 0; psn < 8000; ++psn) file->on_trace(sent(psn));
  file->finish();
  const auto all = records(file->path());
  ASSERT_EQ(all.size(), 8001u);
  for (uint64_t psn = 0; psn < 8000; ++psn) ASSERT_EQ(all[psn + 1]["data"]["psn"], psn);
}

TEST_F(TraceFileTest, the_thread_writes_while_events_come) {
  auto file = open("/a.sqlog", 256);
  ASSERT_TRUE(file->start());
  for (uint64_t psn = 0; psn < 20000; ++psn) {
    file->on_trace(sent(psn));
    if (psn % 64 == 0) std::this_thread::yield();
  }
  const uint64_t lost = file->lost();
  file->finish();
  uint64_t events = 0, counted = 0, next = 0;
  for (const json& r : records(file->path())) {
    if (r.contains("file_schema")) continue;
    if (r["name"] == "mrc:events_lost") {
      counted += r["data"]["count"].get<uint64_t>();
      next += r["data"]["count"].get<uint64_t>();
    } else {
      ++events;
      ASSERT_EQ(r["data"]["psn"], next) << "what is missing is said where it is missing";
      ++next;
    }
  }
  EXPECT_EQ(counted, lost);
  EXPECT_EQ(events + counted, 20000u) << "every event is either there or counted";
}

TEST_F(TraceFileTest, names_of_process_and_device) {
  const std::string pid = std::to_string(::getpid());
  EXPECT_EQ(open("/t-%p-%d.x")->path(), folder_ + "/t-" + pid + "-mrc0.x");
  EXPECT_EQ(open("/")->path(), folder_ + "//mrc-" + pid + "-mrc0.sqlog");
  EXPECT_EQ(open("")->path(), folder_ + "/mrc-" + pid + "-mrc0.sqlog");
  made_.pop_back();
}

TEST_F(TraceFileTest, two_writers_do_not_share_a_file) {
  auto first = open("/a.sqlog");
  auto second = open("/a.sqlog");
  EXPECT_EQ(second->path(), first->path() + ".2");
  first->on_trace(sent(1));
  first->finish();
  EXPECT_EQ(records(first->path()).size(), 2u);
  EXPECT_EQ(records(second->path()).size(), 1u);
  first.reset();
  EXPECT_EQ(open("/a.sqlog")->path(), folder_ + "/a.sqlog") << "free again";
  EXPECT_EQ(records(folder_ + "/a.sqlog").size(), 1u) << "and begun anew";
  made_.pop_back();
}

TEST_F(TraceFileTest, a_file_that_cannot_be_says_why) {
  std::string error;
  EXPECT_EQ(open("/missing/a.sqlog", 64, &error), nullptr);
  EXPECT_NE(error.find("missing/a.sqlog"), std::string::npos) << error;
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
}

// A pipe may have no reader, and then even opening it would block.
TEST_F(TraceFileTest, a_pipe_is_refused) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    const auto file = TraceFile::open(path, {"mrc0", "{}"});
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().text.find("no regular file"), std::string::npos) << file.error().text;
  }
  ::unlink(pipe.c_str());
}

TEST_F(TraceFileTest, names_that_are_not_utf8) {
  DeviceConfig config = test_config();
  config.settings.trace = folder_ + "/caf\xe9.sqlog";
  made_.push_back(config.settings.trace);
  const auto device = start(config);
  ASSERT_NE(device, nullptr);
  EXPECT_NE(device->describe_json().find("caf\xef\xbf\xbd.sqlog"), std::string::npos);
  device->stop();
  EXPECT_EQ(records(config.settings.trace)[0]["trace"]["mrc_settings"]["trace"], folder_ + "/caf\xef\xbf\xbd.sqlog");
}

// The application's handlers and its sigwait are to get what is sent to the process.
TEST_F(TraceFileTest, the_thread_takes_no_signal) {
  auto file = open("/a.sqlog");
  ASSERT_TRUE(file->start());
  int found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    bool ours = false;
    for (std::string line; std::getline(status, line);) {
      if (line == "Name:\tmrc-trace") ours = true;
      if (!ours || line.rfind("SigBlk:", 0) != 0) continue;
      const uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
      for (int signal : {SIGTERM, SIGINT, SIGXFSZ, SIGUSR1}) EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << signal;
      ++found;
    }
  }
  EXPECT_EQ(found, 1);
  file->finish();
}

// A file that may not grow ends the trace, with and without a thread, and not the application.
TEST_F(TraceFileTest, the_limit_of_file_sizes_ends_the_trace_alone) {
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const bool thread : {false, true}) {
    auto file = open("/a.sqlog", 1 << 12);
    const rlimit small{8192, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    if (thread) {
      EXPECT_TRUE(file->start());
    }
    for (uint64_t psn = 0; psn < 1000; ++psn) file->on_trace(sent(psn));
    file->finish();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(std::filesystem::file_size(file->path()), 8192u);
    sigset_t pending;
    ::sigpending(&pending);
    EXPECT_EQ(::sigismember(&pending, SIGXFSZ), 0);
  }
}

TEST_F(TraceFileTest, a_device_that_may_not_trace_does_not_start) {
  DeviceConfig config = test_config();
  config.settings.trace = folder_ + "/missing/a.sqlog";
  const auto device = Device::start(config);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, EINVAL);
  EXPECT_NE(device.error().text.find("missing/a.sqlog"), std::string::npos) << device.error().text;
}

}  // namespace
}  // namespace mrc::device
