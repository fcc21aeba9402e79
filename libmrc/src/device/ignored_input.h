// IgnoredInput: what a device has ignored of the messages of mrcd, because it was malformed or does not apply to this
// device. A daemon of another version must not end the process, but its operator has to find out that a change did not
// arrive: the first of each kind is logged, and all are counted.
//
// Threads: one at a time, that which serves the link to mrcd. [MRC-MRCD-4..6, spec/mrcd.md]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mrc::device {

class IgnoredInput {
 public:
  enum class Kind : uint8_t { kMessage, kCall, kDenyRule, kPort, kPath };
  static constexpr size_t kKinds = 5;

  explicit IgnoredInput(const std::string& device) : device_(device) {}

  // `why`: the defect, for people; without control characters. The first of its kind is logged as a warning.
  void add(Kind kind, const std::string& why);
  uint64_t count(Kind kind) const { return counts_[static_cast<size_t>(kind)]; }
  // How many of each kind were ignored, as one line of level info; none if nothing was.
  void log_totals() const;

 private:
  const std::string device_;
  std::array<uint64_t, kKinds> counts_{};
};

}  // namespace mrc::device
