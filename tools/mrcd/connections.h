// Connections: the Unix socket of mrcd and its clients: lines of JSON both ways. One instance per socket path: the
// kernel holds the lock on a file beside the socket for as long as the daemon lives, so that a killed daemon leaves
// nothing that blocks the next. [MRC-MRCD-1]
//
// Destroyed while the loop does not run, or on its thread.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "fd.h"
#include "loop.h"
#include "result.h"
#include "service.h"

namespace mrc::mrcd {

class Connections {
 public:
  Connections(Loop* loop, Service* service, std::string group);
  ~Connections();

  // `socket`: a path, or @NAME in the abstract namespace. EALREADY: another instance has it.
  Status listen(const std::string& socket);
  // Called periodically: resumes accepting after a shortage of descriptors, and closes connections without a complete
  // line by their deadline.
  void resume(Instant now);
  // Accepts no more connections and requests. Requested reports are still read.
  void finish();
  // Every answer has been passed to the kernel.
  bool idle() const;

 private:
  class Connection;
  struct Acceptor;  // of Boost.Asio, as in loop.h
  struct Socket;
  Status lock(const std::string& socket);
  void accept();
  void admit(Socket accepted);
  bool admits(const Peer& peer) const;
  void drop(Connection* connection);

  Service& service_;
  const std::string group_;
  std::string path_;  // of the socket file
  Fd lock_;
  const std::unique_ptr<Acceptor> acceptor_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // an accept may have completed when this is destroyed
  bool finishing_ = false;
  bool paused_ = false;  // accepting failed: without a free descriptor, as a rule
  std::set<std::shared_ptr<Connection>> connections_;
};

}  // namespace mrc::mrcd
