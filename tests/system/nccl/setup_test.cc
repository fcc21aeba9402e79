// Connection set-up with peers that are slow, silent, wrong or gone, for every ABI version. None of it may block, and
// none may harm the connection of the right peer.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "connect.h"
#include "fixture.h"
#include "handshake.h"
#include "harness/limits.h"

namespace mrc::nccl_test {

namespace {

// A TCP connection with the handle, which a peer has and an attacker may not have.
class Raw {
 public:
  explicit Raw(const void* handle) {
    std::memcpy(&handle_, handle, sizeof handle_);
    fd_ = socket(handle_.address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd_, &handle_.address.any, handle_.address.size()), 0);
  }
  ~Raw() { close(); }
  Raw(Raw&& other) noexcept : handle_(other.handle_), fd_(std::exchange(other.fd_, -1)) {}

  void send_bytes(const void* data, size_t size) {
    EXPECT_EQ(send(fd_, data, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // True when the other side has closed.
  bool closed() const {
    char byte;
    const ssize_t n = recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }
  nccl::SetupMessage request() const {
    nccl::SetupMessage h{};
    h.magic = nccl::kSetupMagic;
    h.version = nccl::kSetupVersion;
    h.role = nccl::Role::kSender;
    h.members = 1;
    h.cookie = handle_.cookie;
    h.lanes = 1;
    h.member[0].gid[10] = h.member[0].gid[11] = 0xff;  // ::ffff:127.0.0.1, plane 1 of the default device
    h.member[0].gid[12] = 127;
    h.member[0].gid[15] = 1;
    h.member[0].mtu = IBV_MTU_1024;
    h.lane[0].qpn = 77;
    return h;
  }

 private:
  nccl::Handle handle_{};
  int fd_;
};

// This process can open no file while it stands, as when the limit of files is reached. UBSan looks at the types of
// objects with a pipe when it first meets them: what runs under the limit has to have run before.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{static_cast<rlim_t>(lowest_free()), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoMoreFiles() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  // That stays the lowest: the helper closes the descriptors of a set-up message a moment after they came.
  static int lowest_free() {
    for (int last = -1;;) {
      const int lowest = dup(STDERR_FILENO);
      close(lowest);
      if (lowest == last) return lowest;
      last = lowest;
      usleep(50000);
    }
  }
  rlimit before_{};
};

class SetupTest : public NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    ASSERT_EQ(net_->listen(0, handle_, &listen_), ncclSuccess);
  }
  void TearDown() override {
    if (listen_ != nullptr) {
      EXPECT_EQ(net_->close_listen(listen_), ncclSuccess);
    }
    NetTest::TearDown();
  }
  // accept and connect until both have ended, well or not.
  void join() {
    void *send = nullptr, *recv = nullptr;
    ncclResult_t connecting = ncclSuccess, accepting = ncclSuccess;
    ASSERT_TRUE(eventually([&] {
      if (send == nullptr) connecting = net_->connect(0, handle_, &send);
      if (recv == nullptr) accepting = net_->accept(listen_, &recv);
      return connecting != ncclSuccess || accepting != ncclSuccess || (send != nullptr && recv != nullptr);
    }));
    EXPECT_EQ(connecting, ncclSuccess);
    EXPECT_EQ(accepting, ncclSuccess);
    if (send != nullptr) net_->close_send(send);
    if (recv != nullptr) net_->close_recv(recv);
  }
  // The result of accept, which must make nothing.
  ncclResult_t accept_until(const std::function<bool()>& enough) {
    ncclResult_t result = ncclSuccess;
    void* recv = nullptr;
    EXPECT_TRUE(eventually([&] {
      result = net_->accept(listen_, &recv);
      EXPECT_EQ(recv, nullptr);
      usleep(200);
      return result != ncclSuccess || enough();
    }));
    return result;
  }
  ncclResult_t connect_until_it_ends() {
    ncclResult_t result = ncclSuccess;
    void* send = nullptr;
    EXPECT_TRUE(eventually([&] {
      result = net_->connect(0, handle_, &send);
      usleep(200);
      return result != ncclSuccess || send != nullptr;
    }));
    EXPECT_EQ(send, nullptr);
    return result;
  }
  static bool log_has(const char* text) { return logged().find(text) != std::string::npos; }
  // What NCCL prints of it by default: warnings, and those with the flags that it asks for.
  static bool log_prints(const char* text) { return printed().find(text) != std::string::npos; }

  alignas(16) char handle_[NCCL_NET_HANDLE_MAXSIZE] = {};
  void* listen_ = nullptr;
};

// Time limits are short only where their effect is tested: other cases may be delayed for longer.
class ShortHelloTest : public SetupTest {
 protected:
  void SetUp() override {
    setenv("NCCL_MRC_HELLO_TIMEOUT_MS", "300", 1);
    SetupTest::SetUp();
  }
  void TearDown() override {
    SetupTest::TearDown();
    unsetenv("NCCL_MRC_HELLO_TIMEOUT_MS");
  }
};

class ShortSetupTest : public SetupTest {
 protected:
  void SetUp() override {
    setenv("NCCL_MRC_SETUP_TIMEOUT", "1", 1);
    SetupTest::SetUp();
  }
  void TearDown() override {
    SetupTest::TearDown();
    unsetenv("NCCL_MRC_SETUP_TIMEOUT");
  }
};

TEST_P(SetupTest, accept_and_connect_return_at_once_without_a_peer) {
  void* comm = &comm;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(net_->accept(listen_, &comm), ncclSuccess);
    ASSERT_EQ(comm, nullptr);
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(net_->connect(0, handle_, &comm), ncclSuccess);
    ASSERT_EQ(comm, nullptr);
  }
  join();
}

TEST_P(SetupTest, one_listener_serves_several_connectors) {
  char other[NCCL_NET_HANDLE_MAXSIZE];
  std::memcpy(other, handle_, sizeof other);
  void *sends[2] = {}, *receives[2] = {};
  ASSERT_TRUE(eventually([&] {
    for (int i = 0; i < 2; ++i) {
      ncclResult_t connecting = ncclSuccess, accepting = ncclSuccess;
      if (sends[i] == nullptr) connecting = net_->connect(0, i == 0 ? handle_ : other, &sends[i]);
      if (receives[i] == nullptr) accepting = net_->accept(listen_, &receives[i]);
      EXPECT_EQ(connecting, ncclSuccess);
      EXPECT_EQ(accepting, ncclSuccess);
    }
    return sends[0] != nullptr && sends[1] != nullptr && receives[0] != nullptr && receives[1] != nullptr;
  }));
  for (int i = 0; i < 2; ++i) net_->close_send(sends[i]), net_->close_recv(receives[i]);
}

TEST_P(SetupTest, a_client_that_sends_garbage_is_dropped) {
  Raw web(handle_);
  web.send_bytes("GET / HTTP/1.0\r\n\r\n", 18);
  EXPECT_EQ(accept_until([&] { return web.closed(); }), ncclSuccess);
  EXPECT_TRUE(log_has("does not speak this protocol"));
  join();
}

TEST_P(SetupTest, a_client_without_the_cookie_is_dropped) {
  Raw foreign(handle_);
  nccl::SetupMessage request = foreign.request();
  request.cookie ^= 1;
  foreign.send_bytes(&request, sizeof request);
  EXPECT_EQ(accept_until([&] { return foreign.closed(); }), ncclSuccess);
  EXPECT_TRUE(log_has("lacks the cookie"));
  join();
}

TEST_P(SetupTest, a_hello_that_is_wrong_anywhere_is_refused) {
  const std::function<void(nccl::SetupMessage&)> faults[] = {
      [](nccl::SetupMessage& h) { ++h.version; },
      [](nccl::SetupMessage& h) { h.role = nccl::Role::kReceiver; },
      [](nccl::SetupMessage& h) { h.members = 0; },
      [](nccl::SetupMessage& h) { h.members = nccl::kMaxMembers + 1; },
      [](nccl::SetupMessage& h) { h.lanes = 0; },
      [](nccl::SetupMessage& h) { h.lanes = nccl::kMaxLanes + 1; },
      [](nccl::SetupMessage& h) { h.lane[0].member = 1; },
      [](nccl::SetupMessage& h) { h.member[0].mtu = 99; },
      [](nccl::SetupMessage& h) { h.traffic_class = nccl::kMaxTrafficClass + 1; }};
  for (const auto& fault : faults) {
    Raw peer(handle_);
    nccl::SetupMessage request = peer.request();
    fault(request);
    peer.send_bytes(&request, sizeof request);
    EXPECT_EQ(accept_until([&] { return peer.closed(); }), ncclSuccess);
  }
  join();
}

TEST_P(ShortHelloTest, silent_clients_do_not_block_the_peer) {
  std::vector<Raw> silent;
  for (int i = 0; i < 100; ++i) silent.emplace_back(handle_);
  join();
  EXPECT_EQ(accept_until([&] { return log_has("has not identified itself"); }), ncclSuccess);
}

TEST_P(SetupTest, silent_clients_after_the_peer_do_not_block_it) {
  Raw peer(handle_);
  const nccl::SetupMessage request = peer.request();
  peer.send_bytes(&request, sizeof request);
  std::vector<Raw> silent;  // all before accept is called
  for (int i = 0; i < 100; ++i) silent.emplace_back(handle_);
  peer.close();
  EXPECT_NE(accept_until([] { return false; }), ncclSuccess);  // it was received: its end is an error
}

TEST_P(SetupTest, a_peer_that_sends_slowly_is_accepted) {
  Raw peer(handle_);
  const nccl::SetupMessage request = peer.request();
  const auto* bytes = reinterpret_cast<const char*>(&request);
  void* recv = nullptr;
  for (size_t at = 0; at < sizeof request; at += 97) {
    peer.send_bytes(bytes + at, std::min<size_t>(97, sizeof request - at));
    EXPECT_EQ(net_->accept(listen_, &recv), ncclSuccess);
    EXPECT_EQ(recv, nullptr);
  }
  // Understood: from here on it is the peer, and its end is an error of accept.
  peer.close();
  EXPECT_NE(accept_until([] { return false; }), ncclSuccess);
}

TEST_P(SetupTest, a_client_that_disconnects_is_forgotten) {
  {
    Raw foreign(handle_);
    foreign.send_bytes("HC", 2);
  }
  EXPECT_EQ(accept_until([&] { return log_has("Dropped"); }), ncclSuccess);
  join();
}

TEST_P(SetupTest, a_connector_whose_listener_closes_gets_an_error) {
  void* send = nullptr;
  ASSERT_EQ(net_->connect(0, handle_, &send), ncclSuccess);
  ASSERT_EQ(net_->close_listen(listen_), ncclSuccess);
  listen_ = nullptr;
  EXPECT_EQ(connect_until_it_ends(), ncclRemoteError);
}

TEST_P(ShortSetupTest, a_connector_that_is_not_accepted_gives_up_in_time) {
  EXPECT_EQ(connect_until_it_ends(), ncclRemoteError);
  EXPECT_TRUE(log_prints("NCCL_MRC_SETUP_TIMEOUT"));
}

int open_descriptors() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// The device's own connections to processes of this host, this one included, come about meanwhile: counted when nothing
// has changed for 200 ms.
int settled_descriptors() {
  int count = open_descriptors();
  for (int same = 0, tries = 0; same < 4 && tries < harness::limit_ms(200); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const int next = open_descriptors();
    same = next == count ? same + 1 : 0;
    count = next;
  }
  return count;
}

// NCCL gives up during set-up by calling no more. Up to version 10 no context ends then, either.
TEST_P(ShortSetupTest, a_connect_that_is_called_no_more_is_let_go_of) {
  join();  // what is opened once and kept
  const int before = settled_descriptors();
  char given_up[NCCL_NET_HANDLE_MAXSIZE];
  std::memcpy(given_up, handle_, sizeof given_up);
  void* send = nullptr;
  ASSERT_EQ(net_->connect(0, given_up, &send), ncclSuccess);
  EXPECT_EQ(open_descriptors(), before + 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // twice NCCL_MRC_SETUP_TIMEOUT
  ASSERT_EQ(net_->connect(0, handle_, &send), ncclSuccess);
  EXPECT_EQ(settled_descriptors(), before + 1);
  EXPECT_EQ(net_->connect(0, given_up, &send), ncclInvalidUsage);
}

TEST_P(SetupTest, accept_without_a_free_descriptor_is_an_error_with_its_reason) {
  join();
  Raw waiting(handle_);
  {
    NoMoreFiles limit;
    EXPECT_EQ(accept_until([&] { return false; }), ncclSystemError);
  }
  EXPECT_TRUE(log_prints("Accepting a connection: Too many open files"));
  waiting.close();
  join();  // the listener is none the worse for it
}

TEST_P(SetupTest, connect_without_a_free_descriptor_is_an_error_with_its_reason) {
  join();
  {
    NoMoreFiles limit;
    EXPECT_EQ(connect_until_it_ends(), ncclSystemError);
  }
  EXPECT_TRUE(log_prints("Too many open files"));
  EXPECT_FALSE(log_has("NCCL_SOCKET_IFNAME"));
  join();
}

TEST_P(SetupTest, a_handle_of_no_listener_is_refused) {
  char nonsense[NCCL_NET_HANDLE_MAXSIZE];
  std::memset(nonsense, 0x5A, sizeof nonsense);
  void* send = nullptr;
  EXPECT_EQ(net_->connect(0, nonsense, &send), ncclInvalidArgument);
  EXPECT_EQ(send, nullptr);
}

// The content of a handle was received over the network.
TEST_P(SetupTest, a_handle_with_the_number_of_another_connection_is_refused) {
  char other[NCCL_NET_HANDLE_MAXSIZE];
  std::memcpy(other, handle_, sizeof other);
  void* send = nullptr;
  ASSERT_EQ(net_->connect(0, handle_, &send), ncclSuccess);
  ASSERT_EQ(send, nullptr);
  nccl::Handle forged;
  std::memcpy(&forged, handle_, sizeof forged);
  ASSERT_NE(forged.attempt, 0U);
  forged.cookie ^= 1;
  std::memcpy(other, &forged, sizeof forged);
  EXPECT_EQ(net_->connect(0, other, &send), ncclInvalidUsage);
  join();  // the other connection is none the worse for it
}

TEST_P(SetupTest, a_handle_with_an_address_of_another_kind_is_refused) {
  nccl::Handle forged;
  std::memcpy(&forged, handle_, sizeof forged);
  for (const sa_family_t family : {AF_UNSPEC, AF_UNIX, AF_PACKET}) {
    forged.address.any.sa_family = family;
    std::memcpy(handle_, &forged, sizeof forged);
    void* send = nullptr;
    EXPECT_EQ(net_->connect(0, handle_, &send), ncclInvalidArgument);
  }
}

TEST_P(SetupTest, an_unknown_device_is_refused) {
  int count = 0;
  ASSERT_EQ(net_->devices(&count), ncclSuccess);
  char handle[NCCL_NET_HANDLE_MAXSIZE];
  void* comm = nullptr;
  for (int device : {-1, count, 1000}) {
    ncclNetProperties_t props;
    EXPECT_NE(net_->listen(device, handle, &comm), ncclSuccess);
    EXPECT_NE(net_->connect(device, handle_, &comm), ncclSuccess);
    EXPECT_NE(net_->properties(device, &props), ncclSuccess);
  }
}

TEST_P(SetupTest, an_unfinished_connection_leaves_nothing_behind) {
  void* send = nullptr;
  ASSERT_EQ(net_->connect(0, handle_, &send), ncclSuccess);
  void* recv = nullptr;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(net_->accept(listen_, &recv), ncclSuccess);
}

// As NCCL 2.28.9 does when it aborts an init. With a first communicator the devices stay open.
TEST(NcclSetup, listeners_that_are_left_open_end_with_their_communicator) {
  for (int version : kVersions) {
    if (version < 11) continue;  // without contexts
    const auto first = open_plugin(version), second = open_plugin(version);
    ASSERT_EQ(first->init(log_sink), ncclSuccess);
    ASSERT_EQ(second->init(log_sink), ncclSuccess);
    const int before = open_descriptors();
    alignas(16) char handle[NCCL_NET_HANDLE_MAXSIZE] = {};
    void *listener = nullptr, *other = nullptr, *comm = nullptr;
    ASSERT_EQ(second->listen(0, handle, &listener), ncclSuccess);
    ASSERT_EQ(second->listen(0, handle, &other), ncclSuccess);
    Raw foreign(handle);
    ASSERT_EQ(second->accept(other, &comm), ncclSuccess);
    ASSERT_EQ(second->finalize(), ncclSuccess);
    EXPECT_TRUE(eventually([&] { return foreign.closed(); }));
    foreign.close();
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_NE(first->accept(listener, &comm), ncclSuccess);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(first->close_listen(listener), ncclSuccess);
    EXPECT_EQ(first->close_listen(other), ncclSuccess);
    EXPECT_EQ(first->finalize(), ncclSuccess);
  }
}

TEST(NcclSetup, the_address_is_suspected_only_where_it_may_be_wrong) {
  for (int error : {ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH})
    EXPECT_NE(nccl::tcp_failure(error).find(" (NCCL_SOCKET_IFNAME"), std::string::npos) << error;
  for (int error : {EMFILE, ENFILE, ENOMEM, EACCES, EADDRNOTAVAIL})
    EXPECT_EQ(nccl::tcp_failure(error), std::strerror(error));
}

INSTANTIATE_TEST_SUITE_P(Abi, SetupTest, testing::ValuesIn(kVersions), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Abi, ShortHelloTest, testing::ValuesIn(kVersions), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Abi, ShortSetupTest, testing::ValuesIn(kVersions), testing::PrintToStringParamName());

}  // namespace

}  // namespace mrc::nccl_test
