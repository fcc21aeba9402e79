// The traffic patterns: which connections each needs, its messages, the data and how they are checked.
//
// Sizes are those of nccl-tests: bytes of the input for all-reduce, all-to-all, send/recv and p2p, bytes of the whole
// output for all-gather. Bus bandwidth is algorithm bandwidth times factor(): what a ring must carry over its busiest
// link.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedule.h"

namespace mrc::net_bench {

class Collective {
 public:
  virtual ~Collective() = default;
  static const std::vector<std::string>& names();
  // Sizes are rounded down to a multiple of this: the size that the pattern can divide among the ranks.
  static size_t unit(const std::string& name, int ranks);
  static std::unique_ptr<Collective> make(const std::string& name, Rank& rank);

  virtual double factor() const = 0;
  // Buffers and messages for this size.
  virtual void prepare(size_t bytes) = 0;
  virtual void clear() = 0;            // clears the output, so that a check reads this run's
  virtual uint64_t count_wrong() = 0;  // elements of the output that are not what they must be
  void run();
  void close();

 protected:
  explicit Collective(Rank& rank) : rank_(rank) {}
  Rank& rank_;
  std::unique_ptr<Links> links_;
  std::vector<Memory> memory_;
  Schedule schedule_;
};

// The byte at `index` of the message from one rank to another: cheap, and different for every shift of a few bytes.
inline unsigned char pattern(int from, int to, size_t index) {
  uint32_t x = static_cast<uint32_t>(index) * 2654435761u + static_cast<uint32_t>(from * 40503 + to * 9973);
  return static_cast<unsigned char>(x >> 24 ^ x >> 13);
}

}  // namespace mrc::net_bench
