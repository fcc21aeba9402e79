// The effects that a peer at the socket can have on mrcd and its memory. [MRC-MRCD-1] [MRC-MRCD-2]
#include "connections.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "eventually.h"
#include "fast/mrcd/reports.h"
#include "harness/limits.h"
#include "other_user.h"

namespace mrc::mrcd {
namespace {

// A service behind a socket, with its loop on a thread.
class Served {
 public:
  Served()
      : service_([] {}, [] { return 0.0; }),
        connections_(&loop_, &service_, ""),
        name_("@mrcd-test-" + std::to_string(::getpid())) {
    service_.add_device(std::make_unique<SharedDevice>("mrc0", 2, "srv6", 16));
    const Status listening = connections_.listen(name_);
    EXPECT_TRUE(listening) << listening.error().text;
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Served() {
    loop_.stop();
    thread_.join();
  }
  const std::string& name() const { return name_; }
  // Posts to the loop, and returns its result.
  template <typename Get>
  auto on_loop(const Get& get) {
    std::promise<decltype(get())> result;
    loop_.post([&] { result.set_value(get()); });
    return result.get_future().get();
  }
  // Until `end` is ready, nothing is accepted, read or sent.
  void hold(std::future<void> end) {
    loop_.post([end = std::make_shared<std::future<void>>(std::move(end))] { end->wait(); });
  }
  const Service& service() const { return service_; }  // on the loop
  void resume(Duration later = Duration::seconds(0)) {
    loop_.post([this, later] { connections_.resume(steady_now() + later); });
  }

 private:
  Loop loop_;
  Service service_;
  Connections connections_;
  const std::string name_;
  std::thread thread_;
};

class Caller {
 public:
  explicit Caller(const Served& to) : Caller(to.name()) {}
  explicit Caller(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path + 1, name.data() + 1, name.size() - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&at), length), 0) << std::strerror(errno);
  }
  ~Caller() { ::close(fd_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  bool send(const std::string& text) const {
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return false;
      at += static_cast<size_t>(n);
    }
    return true;
  }
  // The next line; empty when the connection has ended.
  std::string line() const {
    std::string text;
    for (char c; ::recv(fd_, &c, 1, 0) == 1 && c != '\n';) text += c;
    return text;
  }
  // The daemon has closed the connection, or does so in time.
  bool is_closed() const {
    pollfd p{fd_, POLLIN, 0};
    char c;
    return ::poll(&p, 1, harness::limit_ms(60000)) == 1 && ::recv(fd_, &c, 1, MSG_DONTWAIT) <= 0;
  }
  bool is_answered() const { return send("{\"request\": 1, \"do\": \"events\"}\n") && !line().empty(); }

 private:
  const int fd_;
};

// Connects as an unprivileged user, by switching to that user until it is destroyed.
class AsOtherUser {
 public:
  AsOtherUser() { EXPECT_EQ(::seteuid(other_user()), 0); }
  ~AsOtherUser() { EXPECT_EQ(::seteuid(before_), 0); }

 private:
  const uid_t before_ = ::geteuid();
};

// A request of the given length.
std::string request_of(size_t bytes) {
  return "{\"request\": 1, \"do\": \"events\", \"ballast\": \"" + std::string(bytes, 'x') + "\"}\n";
}

TEST(Connections, a_file_that_is_no_socket_is_not_replaced) {
  char name[] = "/tmp/mrcd-listen-XXXXXX";
  const std::string folder = ::mkdtemp(name), path = folder + "/precious";
  std::ofstream(path) << "data";
  Loop loop;
  Service service([] {}, [] { return 0.0; });
  Connections connections(&loop, &service, "");
  const Status listening = connections.listen(path);
  ASSERT_FALSE(listening);
  EXPECT_NE(listening.error().text.find("no socket"), std::string::npos) << listening.error().text;
  EXPECT_NE(listening.error().code, EALREADY);
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
  std::filesystem::remove_all(folder);
}

TEST(Connections, trusted_clients_may_send_a_long_line) {
  if (::geteuid() != 0) GTEST_SKIP() << "a trusted client needs root";
  const Served served;
  const Caller trusted(served);
  EXPECT_TRUE(trusted.is_answered());
  EXPECT_TRUE(trusted.send(request_of(3 << 20)));
  EXPECT_NE(trusted.line(), "");
}

TEST(Connections, only_trusted_clients_may_send_a_long_line) {
  const Served served;
  const AsOtherUser other_user_now;
  const Caller peer(served);
  EXPECT_TRUE(peer.is_answered());
  EXPECT_TRUE(peer.send(request_of(900 << 10)));
  EXPECT_NE(peer.line(), "");
  peer.send(request_of(3 << 20));
  EXPECT_EQ(peer.line(), "");
}

// [MRC-MON-9] A process sends its last figures and closes, while answers to it are on their way.
TEST(Connections, data_of_a_closed_peer_is_read) {
  ctl::PeerReport peer;
  peer.completion = {8000, std::vector<ctl::Whole<uint64_t>>(ctl::DelayReport::kCounts)};
  peer.completion.counts[3] = 5;
  ctl::DeviceReport report = device_report();
  report.peers = {peer};
  std::string text = "{\"hello\": {\"device\": \"mrc0\"}}\n";
  for (int i = 0; i < 100; ++i) text += request_of(10);
  text += nlohmann::json{{"report", ctl::ReportAnswer{ctl::kLastFigures, report}}}.dump() + "\n";
  Served served;
  std::promise<void> closed;
  served.hold(closed.get_future());
  {
    const Caller process(served);
    EXPECT_TRUE(process.send(text));
  }
  closed.set_value();
  const auto count = [&] {
    const LatencyByDevice latency = served.service().latencies().all_peers();
    return latency.empty() ? 0 : latency.at("mrc0").at("all").completion.counts[3].number();
  };
  EXPECT_TRUE(harness::eventually([&] { return served.on_loop(count) != 0; }));
  EXPECT_EQ(served.on_loop(count), 5u);
  const auto processes = [&] { return served.service().processes(); };
  EXPECT_TRUE(harness::eventually([&] { return served.on_loop(processes) == 0; })) << "its end is seen, too";
}

TEST(Connections, no_user_takes_all) {
  const Served served;
  std::vector<std::unique_ptr<Caller>> peers;
  {
    const AsOtherUser other_user_now;
    for (int i = 0; i < 256; ++i) {
      peers.push_back(std::make_unique<Caller>(served));
      ASSERT_TRUE(peers.back()->is_answered());
    }
    EXPECT_FALSE(Caller(served).is_answered());
    peers.pop_back();
    // It goes when the loop has seen its end.
    EXPECT_TRUE(harness::eventually([&] { return Caller(served).is_answered(); }));
  }
  EXPECT_TRUE(Caller(served).is_answered());
}

// As many descriptors as are there now and one more.
class Shortage {
 public:
  Shortage() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = ::dup(0);  // the lowest free one
    ::close(next);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next) + 1;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~Shortage() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// A user's connections without a whole line end at their deadline, however many bytes have come; the same user can be
// served again then, and others all the time.
TEST(Connections, a_connection_without_a_whole_message_is_closed_in_time) {
  Served served;
  const Caller known(served);
  ASSERT_TRUE(known.is_answered());
  std::vector<std::unique_ptr<Caller>> slow;
  {
    const AsOtherUser other_user_now;
    for (int i = 0; i < 256; ++i) slow.push_back(std::make_unique<Caller>(served));
  }
  ASSERT_TRUE(slow[0]->send("{\"request\": 1"));
  ASSERT_TRUE(Caller(served).is_answered());
  served.resume(Duration::seconds(9));
  EXPECT_TRUE(known.is_answered());
  ASSERT_TRUE(slow[1]->is_answered());
  served.resume(Duration::seconds(11));
  EXPECT_TRUE(slow[0]->is_closed());
  EXPECT_TRUE(slow[255]->is_closed());
  EXPECT_TRUE(slow[1]->is_answered());
  EXPECT_TRUE(known.is_answered());
  const AsOtherUser other_user_now;
  EXPECT_TRUE(Caller(served).is_answered());
}

TEST(Connections, a_name_that_is_taken_says_by_whom) {
  const Served served;
  Loop loop;
  Service service([] {}, [] { return 0.0; });
  Connections second(&loop, &service, "");
  const Status listening = second.listen(served.name());
  ASSERT_FALSE(listening);
  EXPECT_EQ(listening.error().code, EALREADY);
  const std::string& why = listening.error().text;
  EXPECT_NE(why.find("taken by user " + std::to_string(::geteuid()) + ", process " + std::to_string(::getpid())),
            std::string::npos)
      << why;
}

TEST(Connections, without_descriptors_it_waits_and_does_not_spin) {
  Served served;
  std::unique_ptr<Caller> caller;
  {
    const Shortage shortage;
    caller = std::make_unique<Caller>(served);  // takes the last one, and stands in the queue
    ::usleep(20000);
    const double before = cpu_seconds();
    ::usleep(400000);  // in which a wrong one spins
    EXPECT_LT(cpu_seconds() - before, 0.1);
  }
  served.resume();
  EXPECT_TRUE(caller->is_answered());
}

// As many answers as it asks for, in their order, once it reads them.
TEST(Connections, a_late_reader_gets_everything) {
  const Served served;
  const Caller peer(served);
  constexpr int kRequests = 12000;
  std::thread asks([&] {
    for (int i = 0; i < kRequests; ++i)
      if (!peer.send("{\"request\": " + std::to_string(i) + ", \"do\": \"show\"}\n")) return;
  });
  ::usleep(200000);  // most likely the answers have filled the socket by now; the order is right without, too
  for (int i = 0; i < kRequests; ++i)
    if (const std::string line = peer.line(); line.find("\"answer\":" + std::to_string(i) + ",") == std::string::npos) {
      ADD_FAILURE() << i << ": " << line;
      break;
    }
  asks.join();
}

// Both connections have been waiting when the loop begins; the requests of the first fill one part of its stream.
TEST(Connections, many_requests_of_one_peer_do_not_delay_those_of_others) {
  const std::string name = "@mrcd-test-turns-" + std::to_string(::getpid());
  Loop loop;
  Service service([] {}, [] { return 0.0; });
  service.add_device(std::make_unique<SharedDevice>("mrc0", 2, "srv6", 16));
  Connections connections(&loop, &service, "");
  ASSERT_TRUE(connections.listen(name));
  const Caller first(name), other(name);
  constexpr size_t kHellos = 400;
  std::string hellos;
  for (size_t i = 0; i < kHellos; ++i)
    hellos +=
        "{\"hello\": {\"device\": \"mrc0\", \"program\": \"app\", \"planes\": 2, \"ev_mode\": \"srv6\", \"evs\": 16}}\n";
  ASSERT_TRUE(first.send(hellos));
  ASSERT_TRUE(other.send("{\"request\": 1, \"do\": \"events\"}\n"));
  std::thread thread([&] { loop.run(); });
  const std::string answer = other.line();
  loop.stop();
  thread.join();
  size_t events = 0;
  for (size_t at = answer.find("\"what\""); at != std::string::npos; at = answer.find("\"what\"", at + 1)) ++events;
  EXPECT_LT(events, kHellos) << "the other request was answered last";
}

// The handler of an accept that has succeeded already runs afterwards.
TEST(Connections, can_be_destroyed_while_a_client_is_being_accepted) {
  const std::string name = "@mrcd-test-going-" + std::to_string(::getpid());
  Loop loop;
  Service service([] {}, [] { return 0.0; });
  auto connections = std::make_unique<Connections>(&loop, &service, "");
  ASSERT_TRUE(connections->listen(name));
  const Caller caller(name);
  loop.post([&] {
    connections.reset();
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  EXPECT_EQ(caller.line(), "");
}

}  // namespace
}  // namespace mrc::mrcd
