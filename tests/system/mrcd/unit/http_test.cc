// The web server with clients that keep their connections, and with a handler that fails.
#include "http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "eventually.h"
#include "harness/limits.h"
#include "other_user.h"

namespace mrc::mrcd {
namespace {

// Does something as another user, in a process of its own: what is opened there belongs to that user, also for the
// kernel's tables. As root only; else it is the same user.
template <typename Body>
pid_t as_other_user(Body body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setresuid(other_user(), other_user(), other_user());
  body();
  for (;;) ::pause();
}

class HttpClient {
 public:
  explicit HttpClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  }
  ~HttpClient() { ::close(fd_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // The server has closed the connection, or does so within `ms`.
  bool is_closed(int ms) const {
    pollfd p{fd_, POLLIN, 0};
    char c;
    return ::poll(&p, 1, ms) == 1 && ::recv(fd_, &c, 1, MSG_DONTWAIT) <= 0;
  }
  void end() const { ::shutdown(fd_, SHUT_WR); }
  // The status; 0 when there is no answer.
  int ask(const std::string& path) const {
    const std::string text = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[4096];
    if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return 0;
    const ssize_t n = ::recv(fd_, answer, sizeof answer - 1, 0);
    answer[n > 0 ? n : 0] = 0;
    return n > 12 ? std::atoi(answer + 9) : 0;
  }
  // What the server sends until it closes the connection.
  std::string rest() const {
    std::string text;
    char part[4096];
    for (ssize_t n; (n = ::recv(fd_, part, sizeof part, 0)) > 0;) text.append(part, static_cast<size_t>(n));
    return text;
  }
  // Answers until the server closes the connection.
  int answers() const {
    const std::string text = rest();
    int count = 0;
    for (size_t at = 0; (at = text.find("HTTP/1.1 ", at)) != std::string::npos; ++at) ++count;
    return count;
  }

 private:
  const int fd_;
};

// A server on a loop that runs on a thread.
class WebServed {
 public:
  explicit WebServed(const HttpLimits& limits = {}, HttpServer::OriginOf origin = origin_of)
      : server_(&loop_, limits, std::move(origin)) {
    const Status started = server_.start("127.0.0.1:0", [this](const HttpRequest& request, HttpServer::Reply reply) {
      if (request.path == "/throw") throw std::runtime_error("a report of an unknown form");
      const HttpReply hello{request.host == "localhost" ? 200u : 421u, "text/plain", "hello"};
      if (request.path == "/answer-and-throw") {
        reply(hello);
        throw std::runtime_error("after the answer");
      }
      if (request.path == "/throw-and-answer") {
        loop_.post([reply, hello] { reply(hello); });
        throw std::runtime_error("before the answer");
      }
      if (request.path == "/later")
        loop_.post([reply, hello] { reply(hello); });
      else if (request.path != "/never")
        reply(hello);
      else
        outstanding_ = std::move(reply);
    });
    EXPECT_TRUE(started) << started.error().text;
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~WebServed() {
    loop_.stop();
    thread_.join();
  }
  uint16_t port() const { return server_.port(); }

 private:
  Loop loop_;
  HttpServer::Reply outstanding_;  // outlives the server
  HttpServer server_;
  std::thread thread_;
};

// No deadline passes, however busy the machine is.
HttpLimits patient() {
  HttpLimits limits;
  limits.header = limits.transfer = std::chrono::hours(1);
  return limits;
}

class Http : public testing::Test {
 protected:
  WebServed server_{patient()};
};

TEST_F(Http, replies_later) {
  const HttpClient client(server_.port());
  EXPECT_EQ(client.ask("/later"), 200);
  EXPECT_EQ(client.ask("/"), 200);
}

// As when mrcd ends while it waits for the reports of processes.
TEST_F(Http, ends_with_a_reply_outstanding) {
  const HttpClient waits(server_.port());
  ASSERT_TRUE(waits.send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_EQ(HttpClient(server_.port()).ask("/"), 200);
}

TEST_F(Http, an_exception_of_a_handler_ends_nothing) {
  const HttpClient client(server_.port());
  EXPECT_EQ(client.ask("/throw"), 500);
  EXPECT_EQ(client.ask("/"), 200);
}

// One answer each, and the connection goes on.
TEST_F(Http, a_handler_that_answers_and_throws) {
  const HttpClient client(server_.port());
  EXPECT_EQ(client.ask("/answer-and-throw"), 200);
  EXPECT_EQ(client.ask("/throw-and-answer"), 500);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.ask("/"), 200) << i;
  EXPECT_TRUE(client.send("GET /nothing-more HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\n\r\n"));
  EXPECT_EQ(client.answers(), 1);
}

// HEAD has the header of GET, with the length of the body that GET would have. [RFC 9110, 9.3.2]
TEST_F(Http, head_has_the_length_of_get_and_no_body) {
  const HttpClient get(server_.port()), head(server_.port());
  ASSERT_TRUE(get.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
  ASSERT_TRUE(head.send("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
  const std::string whole = get.rest(), header = head.rest();
  EXPECT_NE(header.find("\r\nContent-Length: 5\r\n"), std::string::npos) << header;
  EXPECT_EQ(header + "hello", whole);
}

// [MRC-MON-8]
TEST_F(Http, a_malformed_request_is_answered_and_the_connection_closed) {
  const std::string long_header = "GET / HTTP/1.1\r\nX: " + std::string(40000, 'x');
  const struct {
    std::string text;
    const char* status;
  } requests[] = {
      {"no request\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nbad header\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", "400"},
      {"GET / HTTP/7.7\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n", "400"},
      {long_header, "431"},
      {"POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", "413"},
  };
  for (const auto& request : requests) {
    const HttpClient client(server_.port());
    ASSERT_TRUE(client.send(request.text));
    const std::string answer = client.rest();
    EXPECT_EQ(answer.substr(0, 12), std::string("HTTP/1.1 ") + request.status) << request.text.substr(0, 40);
    EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find("{\"error\":"), std::string::npos) << answer;
  }
  EXPECT_EQ(HttpClient(server_.port()).ask("/"), 200);
}

// A client that ends the connection between two requests, or within one, is not answered.
TEST_F(Http, an_end_of_the_connection_is_no_malformed_request) {
  for (const char* part : {"", "GET / HT", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe"}) {
    const HttpClient client(server_.port());
    ASSERT_TRUE(client.send(part));
    client.end();
    EXPECT_EQ(client.rest(), "") << part;
  }
}

TEST_F(Http, connections_at_once__up_to_the_limit_and_beyond) {
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server_.port()));
    ASSERT_EQ(clients.back()->ask("/"), 200) << i;
  }
  EXPECT_EQ(HttpClient(server_.port()).ask("/"), 0);
  clients.pop_back();
  int status = 0;  // its end has to be seen first
  EXPECT_TRUE(harness::eventually([&] { return (status = HttpClient(server_.port()).ask("/")) != 0; }));
  EXPECT_EQ(status, 200);
}

class SlowHttp : public testing::Test {
 protected:
  void start(const HttpLimits& limits) { server_ = std::make_unique<WebServed>(limits); }
  std::unique_ptr<WebServed> server_;
};

// However slowly it comes: each byte is in time for a deadline that began anew with it, the header is not.
TEST_F(SlowHttp, a_header_has_a_deadline_that_bytes_do_not_move) {
  HttpLimits limits;
  limits.header = std::chrono::milliseconds(300);
  limits.transfer = std::chrono::hours(1);
  start(limits);
  const HttpClient slow(server_->port()), silent(server_->port()), idle(server_->port());
  ASSERT_EQ(idle.ask("/"), 200);
  ASSERT_TRUE(slow.send("GET / HTTP/1.1\r\nX-Slow: "));
  EXPECT_TRUE(harness::eventually([&] {
    (void)slow.send("x");
    return slow.is_closed(10);
  }));
  EXPECT_TRUE(silent.is_closed(harness::limit_ms(60000)));
  EXPECT_TRUE(idle.is_closed(harness::limit_ms(60000)));  // between two requests, too
  EXPECT_EQ(HttpClient(server_->port()).ask("/"), 200);
}

// A user of this host holds what one origin may, with headers that never end, and another user is answered all the
// same.
TEST_F(SlowHttp, one_user_leaves_room_for_others) {
  if (other_user() == ::geteuid()) GTEST_SKIP() << "acting as another user needs root";
  HttpLimits limits;
  limits.of_origin = 8;
  limits.header = limits.transfer = std::chrono::hours(1);
  start(limits);
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const uint16_t port = server_->port();
  const pid_t child = as_other_user([&] {
    static std::vector<std::unique_ptr<HttpClient>> held;
    for (int i = 0; i < 100; ++i) {
      held.push_back(std::make_unique<HttpClient>(port));
      (void)held.back()->send("GET / HTTP/1.1\r\nX-Slow: ");
    }
    char open = 0;
    for (const auto& client : held) open = static_cast<char>(open + !client->is_closed(200));
    (void)!::write(pipe_ends[1], &open, 1);
  });
  char open = 0;
  ASSERT_EQ(::read(pipe_ends[0], &open, 1), 1);
  EXPECT_EQ(open, 8);
  EXPECT_EQ(HttpClient(port).ask("/"), 200);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST_F(SlowHttp, the_limit_of_one_origin_and_of_all) {
  HttpLimits limits;
  limits.of_origin = 3;
  limits.connections = 2;
  start(limits);
  const HttpClient one(server_->port()), two(server_->port());
  EXPECT_EQ(one.ask("/"), 200);
  EXPECT_EQ(two.ask("/"), 200);
  EXPECT_EQ(HttpClient(server_->port()).ask("/"), 0);
  limits.of_origin = 1;
  limits.connections = 3;
  start(limits);
  const HttpClient only(server_->port());
  EXPECT_EQ(only.ask("/"), 200);
  EXPECT_EQ(HttpClient(server_->port()).ask("/"), 0);
}

// The cost of the look-up grows with the connections of the host, so a flood of connections must not cause one each.
TEST(HttpOrigin, is_asked_only_where_there_is_room) {
  HttpLimits limits;
  limits.connections = 2;
  std::atomic<int> asked = 0;
  const WebServed server(limits, [&](int) {
    ++asked;
    return "somewhere";
  });
  const HttpClient one(server.port()), two(server.port());
  EXPECT_EQ(one.ask("/"), 200);
  EXPECT_EQ(two.ask("/"), 200);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(HttpClient(server.port()).ask("/"), 0);
  EXPECT_EQ(asked, 2);
}

// If a client has reset its connection before it is accepted, only the own end is known.
TEST(HttpOrigin, a_client_that_has_closed_has_none) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);
  const auto client = [&](bool reset) {
    const int client_socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(client_socket, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    const linger now{1, 0};
    EXPECT_EQ(::setsockopt(client_socket, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    if (reset) ::close(client_socket);
    const int accepted = ::accept(listener, nullptr, nullptr);
    auto origin = origin_of(accepted);
    ::close(accepted);
    if (!reset) ::close(client_socket);
    return origin;
  };
  EXPECT_EQ(client(false), "user " + std::to_string(::geteuid()));
  EXPECT_EQ(client(true), std::nullopt);
  ::close(listener);
}

TEST_F(SlowHttp, a_port_that_is_taken_says_by_whom) {
  start({});
  Loop loop;
  HttpServer second(&loop);
  const Status started = second.start("127.0.0.1:" + std::to_string(server_->port()), nullptr);
  ASSERT_FALSE(started);
  const std::string& why = started.error().text;
  EXPECT_NE(why.find("taken by user " + std::to_string(::geteuid()) + ", process " + std::to_string(::getpid())),
            std::string::npos)
      << why;
}

// A port that does not parse left the address at its default, which is that of all interfaces.
TEST(HttpServerStart, an_address_that_does_not_parse_is_refused) {
  Loop loop;
  for (const char* at : {"127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:abc", "127.0.0.1:", "127.0.0.1:0x50",
                         "127.0.0.1:0 ", "[::1]:70000", "127.0.0.1", ":9417", "localhost:9417", "1.2.3:80"}) {
    HttpServer server(&loop);
    const Status started = server.start(at, nullptr);
    ASSERT_FALSE(started) << at;
    EXPECT_EQ(started.error().text, "'" + std::string(at) + "' is no ADDRESS:PORT");
  }
}

}  // namespace
}  // namespace mrc::mrcd
