#include "sim/config/units.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace mrc::sim {
namespace {

// The number at the start of `text`, and what follows it.
std::optional<std::pair<double, std::string>> split(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const char first = text[0];
  if ((first < '0' || first > '9') && first != '.' && first != '-' && first != '+') return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(value)) return std::nullopt;
  while (*end == ' ') ++end;
  return std::make_pair(value, std::string(end));
}

using Suffixes = std::vector<std::pair<const char*, double>>;

std::optional<double> scaled(const std::string& text, const Suffixes& suffixes) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  if (parts->first == 0 && parts->second.empty()) return 0.0;
  for (const auto& [name, factor] : suffixes)
    if (parts->second == name) return parts->first * factor;
  return std::nullopt;
}

std::string with_unit(double value, const Suffixes& units) {
  const char* name = units.back().first;
  double factor = units.back().second;
  for (const auto& [unit, scale] : units)
    if (std::fabs(value) >= scale) {
      name = unit;
      factor = scale;
      break;
    }
  char out[48];
  std::snprintf(out, sizeof(out), "%.4g %s", value / factor, name);
  return out;
}

}  // namespace

std::optional<Ps> parse_time(const std::string& text) {
  const auto v = scaled(text, {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}});
  if (!v || *v < 0 || *v > 9e18) return std::nullopt;
  return static_cast<Ps>(std::llround(*v));
}

std::optional<double> parse_rate(const std::string& text) {
  const auto v = scaled(text, {{"", 1},
                               {"bps", 1},
                               {"K", 1e3},
                               {"M", 1e6},
                               {"G", 1e9},
                               {"T", 1e12},
                               {"Kbps", 1e3},
                               {"Mbps", 1e6},
                               {"Gbps", 1e9},
                               {"Tbps", 1e12}});
  return v && *v >= 0 ? v : std::nullopt;
}

std::optional<int64_t> parse_bytes(const std::string& text) {
  const auto v = scaled(text, {{"", 1},
                               {"B", 1},
                               {"K", 1e3},
                               {"M", 1e6},
                               {"G", 1e9},
                               {"KB", 1e3},
                               {"MB", 1e6},
                               {"GB", 1e9},
                               {"KiB", 1024},
                               {"MiB", 1048576},
                               {"GiB", 1073741824}});
  if (!v || *v < 0 || *v > 9e18) return std::nullopt;
  return static_cast<int64_t>(std::llround(*v));
}

std::optional<Size> parse_size(const std::string& text) {
  const auto parts = split(text);
  if (parts && (parts->second == "bdp" || parts->second == "BDP")) {
    if (parts->first < 0) return std::nullopt;
    return Size{parts->first, true};
  }
  const auto bytes = parse_bytes(text);
  if (!bytes) return std::nullopt;
  return Size{static_cast<double>(*bytes), false};
}

std::optional<double> parse_number(const std::string& text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  if (parts->second == "%") return parts->first / 100;
  if (!parts->second.empty()) return std::nullopt;
  return parts->first;
}

std::string format_time(Ps t) {
  return with_unit(static_cast<double>(t), {{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}});
}

std::string format_rate(double bps) {
  return with_unit(bps, {{"Tb/s", 1e12}, {"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}, {"b/s", 1}});
}

std::string format_bytes(double bytes) {
  return with_unit(bytes, {{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}});
}

}  // namespace mrc::sim
