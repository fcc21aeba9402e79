// Slices: a measuring program stays up and measures a short time whenever it is asked, in turns with others
// (tools/bench). Each line on its standard input is the length of a slice in seconds, or empty for the usual length. It
// prints one JSON object per line on standard output: {"ready": true} once it is set up, then for each slice
//   {"bytes", "messages", "seconds", "cpu_s": {"client", "server"}} or {"latency": {"p50_us", ..}, "seconds", "cpu_s"}:
// payload received and the time it took, processor time of both ends in the slice, half round trips. End of input ends
// it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "result.h"

namespace mrc::tools {

inline constexpr double kSliceSeconds = 0.15, kMinSliceSeconds = 0.01, kMaxSliceSeconds = 60;

inline void print_slice(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

inline void print_slices_ready() {
  print_slice("{\"ready\": true}");
}

// Time of a transfer, from the sender's start until the receiver has the last byte: as between the first post and the
// last completion of MRC, a delayed start counts. Where the clocks of the two differ, as those of two hosts do, from
// the first byte to the last.
inline double transfer_seconds(uint64_t start_ns, uint64_t first_byte_ns, uint64_t last_byte_ns) {
  constexpr uint64_t kMaxDelay = 10000000000;
  const bool one_clock = first_byte_ns >= start_ns && first_byte_ns - start_ns < kMaxDelay;
  return static_cast<double>(last_byte_ns - (one_clock ? start_ns : first_byte_ns)) * 1e-9;
}

// The length that the next line asks for; none: end of input. EINVAL: the line is no length.
inline Result<std::optional<double>> next_slice(double usual_s) {
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  if (line.empty()) return usual_s;
  char* end = nullptr;
  const double seconds = std::strtod(line.c_str(), &end);
  if (*end == '\0' && seconds >= kMinSliceSeconds && seconds <= kMaxSliceSeconds) return seconds;
  return invalid("'" + line + "' is not the length of a slice, 0.01 to 60 seconds");
}

// Calls measure(seconds) for each line until the end of input. EINVAL: a line is no length.
template <typename Measure>
Status serve_slices(Measure measure) {
  print_slices_ready();
  for (;;) {
    const Result<std::optional<double>> seconds = next_slice(kSliceSeconds);
    if (!seconds) return seconds.error();
    if (!seconds->has_value()) return {};
    measure(seconds->value());
  }
}

}  // namespace mrc::tools
