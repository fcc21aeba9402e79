// Every class of warning of the plugin reaches a user who has set NCCL_DEBUG=WARN and nothing else, through a logger
// that filters as NCCL does; and what that filter is. Each test needs a process of its own, as ctest gives it.
#include <unistd.h>

#include <cstdlib>

#include "fixture.h"
#include "log_filter.h"

namespace mrc::nccl_test {

namespace {

using nccl_net::LogFilter;

constexpr unsigned long kAll = ~0UL;

struct FilterCase {
  const char *debug, *subsystems;
  ncclDebugLogLevel level;
  unsigned long flags;
  bool printed;
};

TEST(LogFilter, is_that_of_nccl) {
  const FilterCase cases[] = {
      {nullptr, nullptr, NCCL_LOG_WARN, kAll, false},  // level NONE
      {"", nullptr, NCCL_LOG_WARN, kAll, false},
      {"NOISY", nullptr, NCCL_LOG_WARN, kAll, false},
      {"VERSION", nullptr, NCCL_LOG_VERSION, kAll, true},
      {"VERSION", nullptr, NCCL_LOG_WARN, kAll, false},
      {"WARN", nullptr, NCCL_LOG_WARN, kAll, true},
      {"warn", nullptr, NCCL_LOG_WARN, kAll, true},
      {"WARN", nullptr, NCCL_LOG_INFO, kAll, false},
      {"WARN", nullptr, NCCL_LOG_WARN, NCCL_NET, false},  // warnings are no exception
      {"WARN", nullptr, NCCL_LOG_WARN, NCCL_INIT, true},
      {"WARN", nullptr, NCCL_LOG_WARN, NCCL_BOOTSTRAP, true},
      {"WARN", nullptr, NCCL_LOG_WARN, NCCL_ENV, true},
      {"INFO", nullptr, NCCL_LOG_INFO, NCCL_INIT | NCCL_NET, true},
      {"INFO", nullptr, NCCL_LOG_ABORT, kAll, false},
      {"TRACE", nullptr, NCCL_LOG_TRACE, kAll, true},
      {"WARN", "NET", NCCL_LOG_WARN, NCCL_NET, true},
      {"WARN", "NET", NCCL_LOG_WARN, NCCL_INIT, false},
      {"WARN", "init,NeT", NCCL_LOG_WARN, NCCL_NET, true},
      {"WARN", ",,NET,", NCCL_LOG_WARN, NCCL_NET, true},
      {"WARN", "NETS", NCCL_LOG_WARN, kAll, false},
      {"WARN", " NET", NCCL_LOG_WARN, kAll, false},
      {"WARN", "", NCCL_LOG_WARN, kAll, false},
      {"WARN", "ALL", NCCL_LOG_WARN, NCCL_NET, true},
      {"WARN", "^NET", NCCL_LOG_WARN, NCCL_NET, false},
      {"WARN", "^NET", NCCL_LOG_WARN, NCCL_COLL, true},
      {"WARN", "^INIT,NET", NCCL_LOG_WARN, NCCL_INIT | NCCL_NET, false},
      {"WARN", "^ALL", NCCL_LOG_WARN, kAll, false},
      {"WARN", "^", NCCL_LOG_WARN, NCCL_NET, true},
  };
  for (const FilterCase& c : cases)
    EXPECT_EQ(LogFilter(c.debug, c.subsystems).prints(c.level, c.flags), c.printed)
        << (c.debug ? c.debug : "-") << " " << (c.subsystems ? c.subsystems : "-") << " level " << c.level << " flags "
        << c.flags;
}

class WarningTest : public testing::Test {
 protected:
  void SetUp() override { clear_log(); }
  void TearDown() override {
    if (net_ != nullptr) {
      EXPECT_EQ(net_->finalize(), ncclSuccess);
    }
  }
  ncclResult_t start(int version = kNewest, int traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEF) {
    net_ = open_plugin(version);
    const ncclResult_t result = net_->init(log_sink, traffic_class);
    if (result != ncclSuccess) net_.reset();
    return result;
  }
  static void expect_printed(const char* text) {
    EXPECT_NE(printed().find(text), std::string::npos) << "not printed: " << text << "\nlogged: " << logged();
  }

  std::unique_ptr<Net> net_;
};

TEST_F(WarningTest, a_provider_that_cannot_be_loaded) {
  setenv("MRC_PROVIDER", "/nonexistent/libmrc.so", 1);
  EXPECT_EQ(start(), ncclSystemError);
  expect_printed("MRC_PROVIDER cannot be loaded: /nonexistent/libmrc.so");
}

TEST_F(WarningTest, a_refused_configuration) {
  setenv("MRC_MTU", "777", 1);
  EXPECT_EQ(start(), ncclSystemError);
  expect_printed("configuration was refused");
}

TEST_F(WarningTest, a_setting_out_of_range) {
  setenv("NCCL_MRC_TIMEOUT", "25", 1);
  ASSERT_EQ(start(), ncclSuccess);
  expect_printed("NCCL_MRC_TIMEOUT=25 is not in");
}

TEST_F(WarningTest, a_setting_that_has_no_effect) {
  setenv("NCCL_MRC_CC_INIT_RATE", "10000", 1);
  ASSERT_EQ(start(), ncclSuccess);
  expect_printed("NCCL_MRC_CC_INIT_RATE is not acted on");
}

TEST_F(WarningTest, no_device_passes_the_filter) {
  setenv("NCCL_MRC_HCA", "=mlx5_0", 1);
  EXPECT_EQ(start(), ncclSystemError);
  expect_printed("mlx5_0");
}

TEST_F(WarningTest, a_device_number_that_does_not_exist) {
  ASSERT_EQ(start(), ncclSuccess);
  char handle[NCCL_NET_HANDLE_MAXSIZE];
  void* listen = nullptr;
  EXPECT_EQ(net_->listen(99, handle, &listen), ncclInvalidArgument);
  expect_printed("no device 99");
}

TEST_F(WarningTest, no_interface_for_set_up_sockets) {
  setenv("NCCL_SOCKET_IFNAME", "=nosuch0", 1);
  ASSERT_EQ(start(), ncclSuccess);
  char handle[NCCL_NET_HANDLE_MAXSIZE];
  void* listen = nullptr;
  EXPECT_EQ(net_->listen(0, handle, &listen), ncclSystemError);
  expect_printed("No interface for set-up sockets");
}

TEST_F(WarningTest, a_connect_handle_that_is_not_ours) {
  ASSERT_EQ(start(), ncclSuccess);
  char handle[NCCL_NET_HANDLE_MAXSIZE] = "nobody's";
  void* send = nullptr;
  EXPECT_NE(net_->connect(0, handle, &send), ncclSuccess);
  expect_printed("not made by this version");
}

TEST_F(WarningTest, both_ends_of_a_connection_that_is_refused) {
  ASSERT_EQ(start(12, 64), ncclSuccess);  // a traffic class that means trimmed
  char handle[NCCL_NET_HANDLE_MAXSIZE];
  void *listen = nullptr, *send = nullptr, *recv = nullptr;
  ASSERT_EQ(net_->listen(0, handle, &listen), ncclSuccess);
  ncclResult_t connecting = ncclSuccess, accepting = ncclSuccess;
  ASSERT_TRUE(eventually([&] {
    if (connecting == ncclSuccess) connecting = net_->connect(0, handle, &send);
    if (accepting == ncclSuccess) accepting = net_->accept(listen, &recv);
    return connecting != ncclSuccess && accepting != ncclSuccess;
  }));
  expect_printed("Connecting to");
  expect_printed("Connection with");
  EXPECT_EQ(net_->close_listen(listen), ncclSuccess);
}

TEST_F(WarningTest, memory_and_requests_that_cannot_be) {
  ASSERT_EQ(start(), ncclSuccess);
  Pair pair(*net_);
  pair.join();
  ASSERT_FALSE(HasFatalFailure());
  Buffer buffer = pair.buffer(true, pattern(4096, 1));
  void* memory = nullptr;
  EXPECT_NE(net_->reg(pair.sender(), buffer.data(), 4096, NCCL_PTR_CUDA, &memory), ncclSuccess);
  expect_printed("Memory of type");
  EXPECT_NE(net_->reg_dma_buf(pair.sender(), buffer.data(), 4096, 0, -1, &memory), ncclSuccess);
  expect_printed("DMA-BUF");
  void* request = nullptr;
  EXPECT_NE(net_->isend(pair.sender(), buffer.data(), size_t{1} << 62, 0, buffer.memory, &request), ncclSuccess);
  expect_printed("above the limit");
  void* data[9] = {};
  void* memories[9] = {};
  size_t sizes[9] = {};
  int tags[9] = {};
  EXPECT_NE(net_->irecv(pair.receiver(), 9, data, sizes, tags, memories, &request), ncclSuccess);
  expect_printed("A group of 9 receives");
  pair.release(true, buffer);
}

TEST_F(WarningTest, a_connection_that_breaks) {
  ASSERT_EQ(start(), ncclSuccess);
  Pair pair(*net_);
  pair.join();
  ASSERT_FALSE(HasFatalFailure());
  Buffer to = pair.buffer(false, std::vector<uint8_t>(4096));
  void* recv = pair.irecv(to, 4096);
  pair.close_sender();
  EXPECT_NE(pair.outcome(recv), ncclSuccess);
  expect_printed("Connection with");
  pair.release(false, to);
}

}  // namespace

}  // namespace mrc::nccl_test
