// ChunkSchedule: which queue pair posts its next chunk of messages. Round robin over the queue pairs that have room in
// their window of chunks in flight, until each has posted its part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "connection.h"
#include "options.h"

namespace mrc::perf {

class ChunkSchedule {
 public:
  ChunkSchedule(const Options& options, const Plan& plan)
      : window_(plan.window),
        target_(options.iters == 0 ? UINT64_MAX : (options.iters + plan.chunk - 1) / plan.chunk),
        lanes_(options.qps) {}

  // Calls post(qp) for queue pairs with room for which may_post(qp) is true; examines a few, starting after the last
  // one of the previous call. True: it called.
  template <typename MayPost, typename Post>
  bool round(const MayPost& may_post, const Post& post) {
    bool any = false;
    const auto lanes = static_cast<uint32_t>(lanes_.size());
    for (uint32_t i = 0; i < std::min(lanes, kMaxExaminedQps); ++i) {
      const uint32_t qp = next_;
      next_ = next_ + 1 == lanes ? 0 : next_ + 1;
      if (!has_room(qp) || !may_post(qp)) continue;
      post(qp);
      ++lanes_[qp].posted;
      ++in_flight_;
      any = true;
    }
    return any;
  }
  void note_completed(uint32_t qp) {
    ++lanes_[qp].completed;
    --in_flight_;
  }

  uint64_t posted(uint32_t qp) const { return lanes_[qp].posted; }  // chunks of all runs
  uint64_t in_flight() const { return in_flight_; }
  bool all_posted() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [this](const Lane& lane) { return lane.posted >= target_; });
  }

 private:
  static constexpr uint32_t kMaxExaminedQps = 64;  // in one round

  struct Lane {  // one queue pair
    uint64_t posted = 0, completed = 0;
  };
  bool has_room(uint32_t qp) const {
    const Lane& lane = lanes_[qp];
    return lane.posted < target_ && lane.posted - lane.completed < window_;
  }

  const uint64_t window_;
  const uint64_t target_;  // of each queue pair in all runs; UINT64_MAX: until the run's time is over
  uint64_t in_flight_ = 0;
  uint32_t next_ = 0;
  std::vector<Lane> lanes_;
};

}  // namespace mrc::perf
