// Units as people write them in fabric and scenario files, and as reports print them. Times are picoseconds inside the
// simulator (a byte at 800 Gb/s lasts 10 ps), rates bits per second, sizes bytes; decimal prefixes are powers of 1000,
// KiB, MiB and GiB powers of 1024. Sizes of buffers may be multiples of the bandwidth-delay product ("0.2bdp").
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mrc::sim {

using Ps = int64_t;  // picoseconds

constexpr Ps kPsPerNs = 1000;
constexpr Ps kPsPerUs = 1000000;
constexpr Ps kPsPerMs = 1000000000;
constexpr Ps kPsPerSecond = 1000000000000;

inline double us(Ps t) {
  return static_cast<double>(t) / kPsPerUs;
}

// A buffer size: bytes, or a multiple of the plane's bandwidth-delay product.
struct Size {
  double value = 0;
  bool of_bdp = false;
  int64_t bytes(double bdp) const { return static_cast<int64_t>(of_bdp ? value * bdp + 0.5 : value); }
};

// Empty when the text is no number of this kind. A plain "0" is a time and a size.
std::optional<Ps> parse_time(const std::string& text);        // 500ns, 8us, 1.5ms, 2s, 100ps
std::optional<double> parse_rate(const std::string& text);    // 100G, 400Gbps, 25e9, bits per second
std::optional<int64_t> parse_bytes(const std::string& text);  // 4096, 16KiB, 2MB
std::optional<Size> parse_size(const std::string& text);      // as parse_bytes, or 0.2bdp
std::optional<double> parse_number(const std::string& text);  // 0.1, 1%, 3

std::string format_time(Ps t);
std::string format_rate(double bps);
std::string format_bytes(double bytes);

}  // namespace mrc::sim
