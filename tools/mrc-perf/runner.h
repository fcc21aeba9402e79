// What a session runs for one size: a transfer or a ping-pong, over reliable queue pairs or over datagrams. Connected
// when it is made; may run several times.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "connection.h"
#include "monitor.h"
#include "oob.h"
#include "pattern.h"

namespace mrc::perf {

struct RunnerSetup {
  const Options& options;
  const Options& share;  // what each thread does of them
  const Plan& plan;      // of one thread
  const Device& device;
  const std::vector<Oob*>& channels;  // one for each thread
  const Pattern& pattern;
  const Memory& source;  // the pattern, registered
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual uint32_t mtu() const = 0;                     // path MTU, bytes
  virtual mrc_qp* first_qp() const { return nullptr; }  // the one whose paths are reported
  virtual void start(Monitor& monitor) = 0;             // before run(), and before the peer starts
  virtual nlohmann::json run(double seconds) = 0;       // this side's result; 0: the messages of the options
  virtual nlohmann::json so_far() const = 0;            // the same of a run that has failed, or has not begun
};

std::unique_ptr<Runner> make_runner(const RunnerSetup& setup);

}  // namespace mrc::perf
