// A rank: its number, its job, the plugin, and the connection to the others through the coordinator.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channel.h"
#include "net.h"

namespace mrc::net_bench {

using nccl_net::Net;

class Rank {
 public:
  explicit Rank(std::unique_ptr<Channel> channel);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const Json& job() const { return job_; }
  Net& net() { return *net_; }
  int device() const { return device_; }
  const ncclNetProperties_t& properties() const { return properties_; }

  // Checks that the libraries of LD_PRELOAD are loaded: the linker only warns about missing ones. Throws CannotRun.
  void check_preload();
  // Opens the plugin, initialises it, chooses the device. Apart from the constructor so that errors can be sent.
  void open();
  void close();  // finalize
  // A second use of the plugin in this process, with a context of its own from version 11 on.
  std::unique_ptr<Net> another();

  // Gives `mine` to all and returns everyone's, by rank. Also a barrier.
  Json exchange(const Json& mine);
  void barrier() { exchange(nullptr); }
  // The next step of this rank, for the report if it does not return.
  void stage(const std::string& text);
  void progress(const Json& data) { channel_->send({{"type", "progress"}, {"data", data}}); }
  void result(const Json& data) { channel_->send({{"type", "result"}, {"data", data}}); }
  void error(const std::string& text, bool cannot_run);

  // A rank times out a little before the coordinator does, because it can report the reason in more detail.
  bool time_is_over() const { return Clock::now() > until_; }
  // Another end of what is waited for; returns the one before.
  Clock::time_point set_end(Clock::time_point end) { return std::exchange(until_, end); }

 private:
  std::unique_ptr<Channel> channel_;
  Json job_;
  int rank_ = 0, ranks_ = 1, device_ = 0;
  Clock::time_point until_;
  std::unique_ptr<Net> net_;
  ncclNetProperties_t properties_{};
};

// Throws Fail with the call's name, its result by name and the plugin's last warnings.
void check(ncclResult_t result, const std::string& call);
const char* result_name(ncclResult_t result);
// The plugin's last warnings as text to be added to a message; empty: none.
std::string last_warnings();

// The logger that is handed to the plugin: keeps warnings; NCCL_DEBUG=INFO or WARN also shows them.
void plugin_log(ncclDebugLogLevel level, unsigned long flags, const char* file, int line, const char* format, ...);

// The body of a rank process; returns its exit status. `descriptor` as in world.h.
int rank_main(const std::string& descriptor);

}  // namespace mrc::net_bench
