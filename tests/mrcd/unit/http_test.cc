// The web server with visitors that keep their connections, and with a handler that fails.
#include "http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace mrc::mrcd {
namespace {

class Visit {
 public:
  explicit Visit(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  }
  ~Visit() { ::close(fd_); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // The status; 0 when there is no answer.
  int ask(const std::string& path) const {
    const std::string text = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[4096];
    if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return 0;
    const ssize_t n = ::recv(fd_, answer, sizeof answer - 1, 0);
    answer[n > 0 ? n : 0] = 0;
    return n > 12 ? std::atoi(answer + 9) : 0;
  }

 private:
  const int fd_;
};

class Http : public testing::Test {
 protected:
  Http() {
    std::string why;
    const auto handler = [](const HttpRequest& request) -> HttpReply {
      if (request.path == "/throw") throw std::runtime_error("a report that nobody understands");
      return {request.host == "localhost" ? 200u : 421u, "text/plain", "hello"};
    };
    EXPECT_TRUE(server_.start("127.0.0.1:0", handler, &why)) << why;
  }
  HttpServer server_;
};

TEST_F(Http, what_a_handler_throws_ends_nothing) {
  const Visit visit(server_.port());
  EXPECT_EQ(visit.ask("/throw"), 500);
  EXPECT_EQ(visit.ask("/"), 200);
}

TEST_F(Http, visitors_at_once__up_to_the_limit_and_beyond) {
  std::vector<std::unique_ptr<Visit>> visits;
  for (int i = 0; i < 64; ++i) {
    visits.push_back(std::make_unique<Visit>(server_.port()));
    ASSERT_EQ(visits.back()->ask("/"), 200) << i;
  }
  EXPECT_EQ(Visit(server_.port()).ask("/"), 0);
  visits.pop_back();
  int status = 0;  // its end has to be seen first
  for (int i = 0; i < 3000 && status == 0; ++i) {
    ::usleep(10000);
    status = Visit(server_.port()).ask("/");
  }
  EXPECT_EQ(status, 200);
}

}  // namespace
}  // namespace mrc::mrcd
