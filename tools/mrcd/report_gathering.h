// ReportGathering: collects the reports of the processes for those that wait for them. One gathering is under way at a
// time, and ends when every process has answered or its deadline has passed; a call meanwhile shares the next one, so
// that many clients cause no more requests. Time is an argument. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "ctl/messages.h"
#include "invariant.h"
#include "shared_device.h"

namespace mrc::mrcd {

class ReportGathering {
 public:
  using Reports = std::vector<ctl::DeviceReport>;
  using Done = std::function<void(Reports)>;
  // Requests the report of every process, with that token, and returns these processes. It does not call back.
  using Request = std::function<std::vector<ClientId>(uint64_t token)>;

  explicit ReportGathering(Request request) : request_(std::move(request)) {}

  // Calls `done` once with the reports that have arrived in time, from here if there is no process, else from a later
  // call of take(), gather() or tick().
  void gather(Instant now, Done done);
  // A caller of gather() waits.
  bool is_under_way() const { return current_.has_value(); }
  // The report of this process is outstanding, or was too late for those that requested it and may still arrive.
  bool awaits(ClientId process, Instant now) const;
  // The answer of a process to the request with that token. One without a report, because it was not valid, counts as
  // an answer. Another token and a process that has answered are ignored.
  void take(ClientId process, uint64_t token, std::optional<ctl::DeviceReport> report, Instant now);
  // The process has gone. Those that wait for it get their answer at the next tick.
  void forget(ClientId process);
  // Answers those whose deadline has passed.
  void tick(Instant now);
  // The processes that have not answered yet; empty while no gathering is under way.
  std::vector<ClientId> missing() const;
  void check() const;

 private:
  static constexpr Duration kTimeout = Duration::milliseconds(1000);
  // For the report of a process that is slower: it is too late, but no violation of the protocol.
  static constexpr Duration kUnderWay = Duration::milliseconds(10000);

  struct Gathering {
    uint64_t token;  // no initialiser: clang would refuse optional::emplace() in this class
    Instant until;
    std::vector<ClientId> missing;
    Reports reports;
    std::vector<Done> done;
  };
  void begin(Instant now);

  const Request request_;
  std::optional<Gathering> current_;
  std::vector<Done> next_;                     // callers waiting for the next gathering
  std::map<ClientId, Instant> awaited_until_;  // by process that was asked
  uint64_t next_token_ = 1;
  mutable InvariantPace pace_;
};

}  // namespace mrc::mrcd
