// The control socket of a running switch: a Unix stream socket, one request in a line, one answer, then it closes. A
// client that may open the path (root) is allowed. Never blocks: packets do not wait for a slow client.
//
//     show                 counters, as JSON
//     rate PORT BPS        another rate of a port, both directions
//
// An answer that begins with "error: " has the fault of the request.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "base/line_reader.h"
#include "fd.h"

namespace mrc::softswitch {

class ControlServer {
 public:
  using Answer = std::function<std::string(const std::string& request)>;
  explicit ControlServer(const std::string& path);  // replaces the socket of an ended switch; throws FabricError
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  int fd() const { return epoll_.get(); }  // readable: serve() has something to do
  void serve(const Answer& answer);

 private:
  struct Client {
    Fd fd;
    LineReader request;
  };
  void accept_all();
  // True: it has been answered, or has closed.
  bool serve_client(Client* client, const Answer& answer);

  std::string path_;
  Fd listener_, epoll_;
  std::deque<Client> clients_;  // oldest first
};

}  // namespace mrc::softswitch
