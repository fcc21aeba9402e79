#include "end_of_run.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace mrc::perf {

void EndOfRun::report(uint64_t sent, bool interrupted) {
  reported_ = true;
  oob_.send({{"done", sent}, {"interrupted", interrupted}});
}

void EndOfRun::poll(Clock::time_point now) {
  next_poll_ = now + kInterval;
  if (const auto message = peer_reported_ ? std::nullopt : oob_.try_receive()) {
    peer_sent_ = message->at("done").get<uint64_t>();
    peer_interrupted_ = message->value("interrupted", false);
    peer_reported_ = true;
    peer_reported_at_ = now;
  }
  if (peer_reported_) oob_.look();
}

}  // namespace mrc::perf
