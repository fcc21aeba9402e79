// Set-up sockets: never block. A transfer of a fixed number of bytes is advanced by each call until it is complete.
// Threads: one at a time per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "fd.h"
#include "interfaces.h"
#include "result.h"

namespace mrc::nccl {

enum class Io { kDone, kAgain, kClosed, kFailed };  // kFailed: errno is set

class Socket {
 public:
  Socket() = default;
  explicit Socket(Fd fd) : fd_(std::move(fd)) {}

  bool open() const { return static_cast<bool>(fd_); }
  void close() { fd_ = Fd(); }

  // The address with the port, where the given one has none.
  Result<SocketAddress> listen_at(SocketAddress address);
  [[nodiscard]] bool start_connect(const SocketAddress& to);  // false: errno is set
  Io finish_connect();
  Io accept_from(Socket* out, SocketAddress* from);

  // Advance *done towards size.
  Io send_all(const void* data, size_t size, size_t* done);
  Io receive_all(void* data, size_t size, size_t* done);

  // After set-up no data is sent. kAgain: the connection is up; kClosed: the peer's process has closed it or has
  // ended; kFailed: an error of the network, which proves nothing about the peer.
  Io look() const;

 private:
  Fd fd_;
};

}  // namespace mrc::nccl
