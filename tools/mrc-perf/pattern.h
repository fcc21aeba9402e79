// Data of a verified transfer. A table of pseudo-random bytes with a period that is prime, so that no two packets of a
// message look alike; message m of queue pair q is the stretch of the table that starts at offset(q, m). The sender
// sends straight from the table and the receiver compares with its own: neither has to generate anything while it
// measures.
#pragma once

#include <cstdint>
#include <vector>

namespace mrc::perf {

class Pattern {
 public:
  static constexpr uint64_t kPeriod = 262139;

  Pattern(uint64_t seed, uint64_t max_message);

  uint8_t* data() { return bytes_.data(); }
  uint64_t size() const { return bytes_.size(); }
  // `sender` 0 is the client, 1 the server: the two directions differ.
  uint64_t offset(uint32_t sender, uint32_t qp, uint64_t message) const;

  // Position of the first wrong byte, or -1.
  int64_t first_mismatch(const uint8_t* received, uint64_t length, uint64_t offset) const;

 private:
  uint64_t seed_;
  std::vector<uint8_t> bytes_;
};

}  // namespace mrc::perf
