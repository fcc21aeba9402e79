// mrc-socket-limit: what one or several TCP streams move between two processes, sent as messages of one size. The
// client sends each message with one send(); the receiver reads as much at a time as TCP has, at least kMinRead, into
// one buffer per stream, so that TCP is as fast as a program can make it. One stream blocks; several are served by one
// epoll loop at each end. With --latency a ping-pong of 2 bytes, both sides polling.
//
// A control connection carries JSON lines: the client's test, then for each slice "start", "end" with the number of
// bytes sent, and the server's result. Data connections follow it, to the same port.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "process_time.h"

namespace socket_limit {

using mrc::tools::cpu_seconds;
using mrc::tools::now_ns;

constexpr uint64_t kMinRead = 128 << 10, kMaxSize = 64 << 20;
constexpr uint32_t kMaxStreams = 256;
constexpr int kIdleMs = 2;  // between looks at the control connection while no data comes

struct Options {
  bool once = false;  // server
  bool slices = false;
  bool latency = false;
  std::string address = "127.0.0.1";
  uint16_t port = 18660;
  uint32_t streams = 1;
  uint64_t size = 1 << 20;
  double seconds = 2;
};

// A descriptor of its own.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Memory to send from and to receive into, aligned and in huge pages as that of mrc-perf: with an odd address the
// kernel copies a third more slowly.
class Buffer {
 public:
  explicit Buffer(uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() const { return data_; }

 private:
  char* data_;
};

// The control connection.
class Control {
 public:
  explicit Control(Socket socket) : socket_(std::move(socket)) {}
  void send(const nlohmann::json& message);
  nlohmann::json receive();                     // blocks; ends the program where the peer has closed
  std::optional<nlohmann::json> try_receive();  // a message that is there
  bool closed() const { return closed_; }       // after a receive

 private:
  std::optional<nlohmann::json> take();
  bool fill(int flags);

  Socket socket_;
  std::string in_;
  bool closed_ = false;
};

Socket listen_on(const Options& options);
Socket accept_from(const Socket& listener);
Socket connect_to(const Options& options);         // waits up to a minute for the server
void set_no_delay(const Socket& socket, bool on);  // switched on it sends what it has held back

[[noreturn]] void fail(const std::string& what);

int run_server(const Options& options);
int run_client(const Options& options);

}  // namespace socket_limit
