// What a transfer works with, and the numbers of its work requests.
#pragma once

#include <cstdint>

#include "connection.h"
#include "monitor.h"
#include "pattern.h"

namespace mrc::perf {

struct TransferSetup {
  const Options& options;
  const Plan& plan;
  const Connection& connection;
  const Pattern& pattern;
  const Memory& source;  // the pattern, registered
  const Memory& buffer;
  Oob& oob;
  Monitor& monitor;
  bool client;
};

// wr_id: kind in the top byte, queue pair below.
inline constexpr uint64_t kChunk = 1ULL << 56, kCredit = 2ULL << 56, kReceive = 3ULL << 56, kKindMask = 0xFFULL << 56;

}  // namespace mrc::perf
