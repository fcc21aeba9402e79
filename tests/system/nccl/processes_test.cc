// Two processes: data between them with and without faults, and a peer that is killed in every state. This process is
// one end, nccl_peer the other. Each test needs a process of its own, as ctest gives it: faults and settings are read
// when the devices are opened.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "fixture.h"

extern char** environ;

namespace mrc::nccl_test {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPeerTimeout = std::chrono::milliseconds(200);  // as set below

class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments) {
    int out[2];
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<char*> argv = {const_cast<char*>(MRC_NCCL_PEER)};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, MRC_NCCL_PEER, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    stdout_ = out[0];
  }
  ~Child() {
    if (pid_ > 0) kill();
    close(stdout_);
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    exit_code();
  }
  void stop() { ::kill(pid_, SIGSTOP); }
  int exit_code() {
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool ended() {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }
  void read_handle(unsigned char* handle) {
    std::string hex;
    char c = 0;
    while (read(stdout_, &c, 1) == 1 && c != '\n') hex += c;
    ASSERT_EQ(hex.size(), size_t{2 * NCCL_NET_HANDLE_MAXSIZE});
    for (int i = 0; i < NCCL_NET_HANDLE_MAXSIZE; ++i)
      handle[i] = static_cast<unsigned char>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  }

 private:
  pid_t pid_ = -1;
  int stdout_ = -1;
};

std::string hex_of(const unsigned char* handle) {
  std::string hex;
  char two[3];
  for (int i = 0; i < NCCL_NET_HANDLE_MAXSIZE; ++i) std::snprintf(two, sizeof two, "%02x", handle[i]), hex += two;
  return hex;
}

class ProcessesTest : public NetTest {
 protected:
  void SetUp() override {
    setenv("NCCL_MRC_PEER_TIMEOUT_MS", "200", 1);
    NetTest::SetUp();
  }
  void TearDown() override {
    if (send_ != nullptr) net_->close_send(send_);
    if (recv_ != nullptr) net_->close_recv(recv_);
    if (listen_ != nullptr) net_->close_listen(listen_);
    child_.reset();
    NetTest::TearDown();
  }
  std::string version() const { return std::to_string(GetParam()); }

  // The child sends, or waits; this process has accepted it when the function returns.
  void with_sender(const std::string& role, size_t size, int count) {
    unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
    ASSERT_EQ(net_->listen(0, handle, &listen_), ncclSuccess);
    child_ = std::make_unique<Child>(
        std::vector<std::string>{version(), role, hex_of(handle), std::to_string(size), std::to_string(count)});
    ncclResult_t result = ncclSuccess;
    ASSERT_TRUE(eventually([&] {
      result = net_->accept(listen_, &recv_);
      return result != ncclSuccess || recv_ != nullptr;
    }));
    ASSERT_EQ(result, ncclSuccess);
  }
  void with_receiver(size_t size, int count) {
    child_ = std::make_unique<Child>(
        std::vector<std::string>{version(), "recv", std::to_string(size), std::to_string(count)});
    unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
    child_->read_handle(handle);
    ncclResult_t result = ncclSuccess;
    ASSERT_TRUE(eventually([&] {
      result = net_->connect(0, handle, &send_);
      return result != ncclSuccess || send_ != nullptr;
    }));
    ASSERT_EQ(result, ncclSuccess);
  }
  void reg(void* comm, size_t size) {
    bytes_.resize(size);
    ASSERT_EQ(net_->reg(comm, bytes_.data(), size, NCCL_PTR_HOST, &memory_), ncclSuccess);
  }
  void* irecv(size_t size, size_t offset = 0) {
    void *data = bytes_.data() + offset, *request = nullptr;
    int tag = 0;
    result_ = net_->irecv(recv_, 1, &data, &size, &tag, &memory_, &request);
    return request;
  }
  void* isend(size_t size) {
    void* request = nullptr;
    result_ = net_->isend(send_, bytes_.data(), size, 0, memory_, &request);
    return request;
  }
  // Receives `count` messages and compares each.
  void receive_all(size_t size, int count) {
    reg(recv_, size);
    for (int i = 0; i < count; ++i) {
      void* request = nullptr;
      ASSERT_TRUE(eventually([&] { return (request = irecv(size)) != nullptr || result_ != ncclSuccess; }));
      ASSERT_EQ(result_, ncclSuccess);
      int done = 0, got = -1;
      ASSERT_TRUE(eventually([&] { return (result_ = net_->test(request, &done, &got)) != ncclSuccess || done != 0; }));
      ASSERT_EQ(result_, ncclSuccess);
      ASSERT_EQ(got, static_cast<int>(size));
      ASSERT_TRUE(bytes_ == pattern(size, static_cast<uint32_t>(i % 16))) << i;
    }
    EXPECT_EQ(net_->dereg(recv_, memory_), ncclSuccess);
    EXPECT_EQ(child_->exit_code(), 0);
  }
  // Every one of the requests must end with ncclRemoteError, not sooner than it may.
  void all_fail(const std::vector<void*>& requests, Clock::duration min = kPeerTimeout) {
    const auto begin = Clock::now();
    for (void* request : requests) {
      int done = 0;
      ncclResult_t result = ncclSuccess;
      ASSERT_TRUE(
          eventually([&] { return (result = net_->test(request, &done, nullptr)) != ncclSuccess || done != 0; }));
      EXPECT_EQ(result, ncclRemoteError);
      EXPECT_EQ(done, 0);
    }
    EXPECT_GE(Clock::now() - begin, min);
    EXPECT_FALSE(logged().empty());
  }

  std::unique_ptr<Child> child_;
  void *listen_ = nullptr, *send_ = nullptr, *recv_ = nullptr, *memory_ = nullptr;
  std::vector<uint8_t> bytes_;
  ncclResult_t result_ = ncclSuccess;
};

TEST_P(ProcessesTest, messages_between_two_processes) {
  with_sender("send", 100000, 50);
  receive_all(100000, 50);
}

TEST_P(ProcessesTest, a_receiver_whose_sender_is_killed_gets_errors) {
  with_sender("wait", 0, 0);
  reg(recv_, 4096);
  std::vector<void*> requests;
  for (int i = 0; i < 20; ++i) requests.push_back(irecv(4096));
  child_->kill();
  all_fail(requests);
  EXPECT_EQ(irecv(4096), nullptr);
  EXPECT_EQ(result_, ncclRemoteError);
  EXPECT_EQ(net_->dereg(recv_, memory_), ncclSuccess);
}

TEST_P(ProcessesTest, a_receiver_whose_sender_is_killed_in_mid_transfer_gets_errors) {
  with_sender("send", 1 << 20, 0);
  reg(recv_, 8 << 20);
  std::vector<void*> requests;
  for (int i = 0; i < 8; ++i) requests.push_back(irecv(1 << 20, static_cast<size_t>(i) << 20));
  int done = 0;
  ASSERT_TRUE(eventually([&] { return net_->test(requests[0], &done, nullptr) != ncclSuccess || done != 0; }));
  child_->kill();
  // Some of them may have been complete; none may hang, and none of those that are posted now can complete.
  for (size_t i = 1; i < requests.size(); ++i) {
    ncclResult_t result = ncclSuccess;
    done = 0;
    ASSERT_TRUE(
        eventually([&] { return (result = net_->test(requests[i], &done, nullptr)) != ncclSuccess || done != 0; }));
    if (result == ncclSuccess) requests[i] = nullptr;
  }
  ASSERT_TRUE(eventually([&] { return irecv(1) == nullptr && result_ != ncclSuccess; }));
  EXPECT_EQ(result_, ncclRemoteError);
  EXPECT_EQ(net_->dereg(recv_, memory_), ncclSuccess);
}

TEST_P(ProcessesTest, a_sender_whose_receiver_is_killed_gets_errors) {
  with_receiver(1 << 20, 0);
  reg(send_, 1 << 20);
  bytes_ = pattern(1 << 20, 0);  // the registration is of the old bytes: repeated
  EXPECT_EQ(net_->dereg(send_, memory_), ncclSuccess);
  reg(send_, 1 << 20);
  std::vector<void*> requests;
  child_->kill();
  // The receiver's buffers may have been posted before its end: accepted sends fail, and later ones are not accepted.
  ncclResult_t last = ncclSuccess;
  ASSERT_TRUE(eventually([&] {
    void* request = isend(1 << 20);
    if (request != nullptr) requests.push_back(request);
    if (!requests.empty()) {
      int done = 0;
      if (net_->test(requests.back(), &done, nullptr) == ncclSuccess && done != 0) requests.pop_back();
    }
    return (last = result_) != ncclSuccess;
  }));
  EXPECT_EQ(last, ncclRemoteError);
  for (void* request : requests) {
    int done = 0;
    EXPECT_EQ(net_->test(request, &done, nullptr), ncclRemoteError);
    EXPECT_EQ(done, 0);
  }
  EXPECT_EQ(net_->dereg(send_, memory_), ncclSuccess);
}

INSTANTIATE_TEST_SUITE_P(Abi, ProcessesTest, testing::ValuesIn(kVersions), testing::PrintToStringParamName());

// The transport alone must detect it, as when the peer's host has failed: the process exists but is stopped.
class SilentPeerTest : public ProcessesTest {
 protected:
  void SetUp() override {
    setenv("NCCL_MRC_TIMEOUT", "10", 1);  // 1 ms
    setenv("NCCL_MRC_RETRY_CNT_EXP", "4", 1);
    setenv("NCCL_MRC_KEEPALIVE", "1", 1);
    ProcessesTest::SetUp();
  }
};

TEST_P(SilentPeerTest, a_receiver_finds_out_by_its_sign_of_life) {
  with_sender("wait", 0, 0);
  reg(recv_, 4096);
  const std::vector<void*> requests = {irecv(4096), irecv(4096)};
  child_->stop();
  all_fail(requests, Clock::duration::zero());  // what irecv has sent may be what finds no answer
  EXPECT_NE(logged().find("retries are exhausted"), std::string::npos);
  EXPECT_EQ(net_->dereg(recv_, memory_), ncclSuccess);
}

TEST_P(SilentPeerTest, a_waiting_sender_finds_out_by_its_sign_of_life) {
  with_receiver(64, 1);
  reg(send_, 64);
  bytes_ = pattern(64, 0);
  child_->stop();
  ASSERT_TRUE(eventually([&] {
    void* request = isend(64);
    int done = 0;
    if (request != nullptr && net_->test(request, &done, nullptr) != ncclSuccess) return true;
    return result_ != ncclSuccess;
  }));
  EXPECT_EQ(net_->dereg(send_, memory_), ncclSuccess);
}

INSTANTIATE_TEST_SUITE_P(Abi, SilentPeerTest, testing::Values(6, kNewest), testing::PrintToStringParamName());

// Both processes damage what they send.
class LossTest : public ProcessesTest {
 protected:
  void SetUp() override {
    setenv("MRC_FAULT", "loss=0.02,reorder=0.02,dup=0.01", 1);
    ProcessesTest::SetUp();
  }
};

TEST_P(LossTest, loss_is_repaired) {
  with_sender("send", 300000, 30);
  receive_all(300000, 30);
}

INSTANTIATE_TEST_SUITE_P(Abi, LossTest, testing::ValuesIn(kVersions), testing::PrintToStringParamName());

// One plane of four fails permanently while messages are in flight: all arrive, and no request fails.
class PlaneTest : public ProcessesTest {
 protected:
  void SetUp() override {
    setenv("MRC_FAULT", "plane=2:blackhole@50ms-1000s", 1);
    ProcessesTest::SetUp();
  }
};

TEST_P(PlaneTest, a_dead_plane_is_survived) {
  with_sender("send", 1 << 20, 200);
  receive_all(1 << 20, 200);
}

INSTANTIATE_TEST_SUITE_P(Abi, PlaneTest, testing::Values(6, kNewest), testing::PrintToStringParamName());

}  // namespace

}  // namespace mrc::nccl_test
