// The out-of-band channel: one TCP connection over which the two sides exchange JSON messages (length, then text).
// Blocking with a time limit; try_receive and peer_gone never block and serve the measuring loops.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "fd.h"

namespace mrc::perf {

class Listener {
 public:
  explicit Listener(uint16_t port);  // throws PerfError, for example when the port is taken
  Fd accept_one();
  Fd accept_one(double limit_s);  // throws PerfError when no client connects

 private:
  Fd try_accept(int limit_ms);  // none: there is no connection, or it is gone again; -1 ms: no limit

  Fd fd_;
};

class Oob {
 public:
  explicit Oob(Fd fd);

  // Resolves and connects, again and again for wait_s seconds: the server may be starting.
  static Fd connect_to(const std::string& host, uint16_t port, double wait_s);

  void send(const nlohmann::json& message);
  // The next message; throws when the peer has closed, reported an error, or stays silent for longer than limit_s.
  nlohmann::json receive(double limit_s);
  // A message, when a whole one is there. An error message of the peer throws.
  std::optional<nlohmann::json> try_receive();
  // Notices a closed connection and an error message; leaves any other message where it is.
  void look();
  // The peer closed the connection or its host refuses it.
  bool peer_gone() const { return gone_; }
  // Both sides send the same word: neither continues before the other has arrived.
  void barrier(const std::string& word);

 private:
  void fill(bool block, double limit_s);
  std::optional<nlohmann::json> take();

  Fd fd_;
  bool gone_ = false;
  std::string in_;
};

}  // namespace mrc::perf
