// Losses of one direction, by side and kind: the sender knows what it sent again, the receiver what of that was lost on
// which way.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "stats.h"

namespace mrc::perf {

// What one side counted during a run, for the other side's report.
nlohmann::json loss_counters(const Snapshot& before, const Snapshot& after);

// Request packets. `trimmed`, `corrupted` and `overflowed` are the receiver's; what arrives twice was sent again
// `needlessly`. The rest of `again` was lost in the network. The kind of corrupted and overflowed packets is unknown,
// so that control packets of the other direction are among them. The kernel drops and counts packets that are merged as
// one: as many of the rest as they can have been count as `overflowed`, which is an upper bound.
struct Losses {
  uint64_t sent = 0, again = 0, needlessly = 0, trimmed = 0, corrupted = 0, overflowed = 0;
  uint64_t in_network() const;
};

// Throws nlohmann::json::exception where a counter is missing or no number.
Losses losses_between(const nlohmann::json& sender, const nlohmann::json& receiver);

// "losses": [{"from", "to", "packets", "sent_again", "needlessly", "network", "trimmed", "corrupted", "overflowed"}],
// for each direction that carried packets.
void add_losses(nlohmann::json* report, bool client, const nlohmann::json& mine, const nlohmann::json& theirs);
void print_losses(const nlohmann::json& report, std::FILE* out);

}  // namespace mrc::perf
