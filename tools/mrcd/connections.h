// Connections: the Unix socket of mrcd, and who is connected to it: lines of JSON both ways. One instance per socket
// path: a lock file beside the socket is held as long as the daemon lives, by the kernel, so that a killed daemon
// leaves nothing that blocks the next. [MRC-MRCD-1]
#pragma once

#include <map>
#include <memory>
#include <string>

#include "loop.h"
#include "service.h"

namespace mrc::mrcd {

class Connections {
 public:
  Connections(Loop* loop, Service* service, std::string group);
  ~Connections();

  // `socket`: a path, or @NAME in the abstract namespace. False and a sentence; *busy: another instance has it.
  bool listen(const std::string& socket, std::string* why, bool* busy);
  // To be called now and then: after a shortage of descriptors there may be some again, and connections without a
  // whole line by their deadline are closed.
  void resume(Instant now);

 private:
  class Connection;
  bool lock(const std::string& socket, std::string* why, bool* busy);
  void accept();
  bool admits(const Peer& peer) const;
  void drop(Connection* connection);

  Loop& loop_;
  Service& service_;
  const std::string group_;
  std::string path_;  // of the socket file
  int lock_ = -1;
  int listening_ = -1;
  bool paused_ = false;
  std::map<int, std::unique_ptr<Connection>> connections_;  // by descriptor
};

}  // namespace mrc::mrcd
