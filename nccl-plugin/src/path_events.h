// PathEvents: what a profiler's event of a message is updated with, from one sample of the queue pair to the next.
// Threads: one at a time.
#pragma once

#include <optional>

#include "profile.h"
#include "qp_sample.h"

namespace mrc::nccl {

class PathEvents {
 public:
  // None: since the last sample no packet was sent again, and no plane has failed or returned. Before the first sample
  // all planes count as good.
  std::optional<PathDescription> update(const QpSample& now);

 private:
  PathDescription last_{};
};

}  // namespace mrc::nccl
