// Loop: the one thread of mrcd, which owns all state, as a Boost.Asio io_context with what mrcd needs on top: periodic
// timers, and readiness of sockets that another object owns. The Unix socket, the signals and HTTP use the context
// itself. Only post() and stop() may be called from other threads.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/time.h"

namespace boost::asio {
class io_context;  // the sources that use it include it: its headers take seconds to compile
}

namespace mrc::mrcd {

Instant steady_now();

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  boost::asio::io_context& context();
  // Calls `ready` while the socket is readable. The caller keeps the socket, and calls unwatch() before it closes it.
  void watch(int socket, std::function<void()> ready);
  void unwatch(int socket);
  // Until the loop is destroyed. After a pause, missed calls are not repeated.
  void every(Duration interval, std::function<void(Instant now)> due);
  void post(std::function<void()> closure);

  void run();  // until stop()
  void stop();

 private:
  struct Context;
  struct Watch;
  struct Timer;

  const std::unique_ptr<Context> context_;
  std::map<int, std::shared_ptr<Watch>> watched_;
};

}  // namespace mrc::mrcd
