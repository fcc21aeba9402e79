// Parameters of an algorithm as text: "gamma=0.5, target_delay=15us".
#include <charconv>
#include <cmath>

#include "core/congestion/registry.h"

namespace mrc::core {
namespace {

struct TimeUnit {
  const char* suffix;
  double ns;
};
constexpr TimeUnit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

bool read_number(std::string_view text, double* out, std::string_view* rest) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  *rest = text.substr(static_cast<size_t>(end - text.data()));
  return error == std::errc() && std::isfinite(*out);
}

bool read_value(const CongestionParameter& p, std::string_view text, double* out) {
  if (p.unit == CongestionUnit::kFlag && (text == "true" || text == "false")) {
    *out = text == "true" ? 1 : 0;
    return true;
  }
  std::string_view rest;
  if (p.unit == CongestionUnit::kFlag || !read_number(text, out, &rest)) return false;
  if (p.unit == CongestionUnit::kTime) {
    bool known = *out == 0 && rest.empty();
    for (const TimeUnit& unit : kTimeUnits) {
      if (rest != unit.suffix) continue;
      *out *= unit.ns;
      known = true;
    }
    if (!known) return false;
  } else if (!rest.empty()) {
    return false;
  }
  const bool whole = p.unit == CongestionUnit::kBytes || p.unit == CongestionUnit::kCount;
  return *out >= p.low && *out <= p.high && (!whole || *out == std::floor(*out));
}

std::string short_number(double v) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, v).ptr);
}

std::string allowed(const CongestionParameter& p) {
  if (p.unit == CongestionUnit::kFlag) return "true or false";
  if (p.unit == CongestionUnit::kTime)
    return short_number(p.low / 1e9) + ".." + short_number(p.high / 1e9) + "s, with ns, us, ms or s";
  return short_number(p.low) + ".." + short_number(p.high) + (p.unit == CongestionUnit::kBytes ? " bytes" : "");
}

}  // namespace

bool set_congestion_parameters(std::string_view text, CongestionConfig* config, std::string* why) {
  const CongestionAlgorithm& algorithm = chosen_algorithm(*config);
  constexpr std::string_view kBetween = " ,\t\n";
  for (size_t at = 0; (at = text.find_first_not_of(kBetween, at)) != text.npos;) {
    const std::string_view word = text.substr(at, text.find_first_of(kBetween, at) - at);
    at += word.size();
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const CongestionParameter* found = nullptr;
    std::string names;
    for (const CongestionParameter& p : algorithm.parameters) {
      if (name == p.name) found = &p;
      names += (names.empty() ? "" : ", ") + std::string(p.name);
    }
    if (found == nullptr || equals == word.npos) {
      *why = "'" + std::string(word) + "' is no parameter of " + algorithm.name +
             ", allowed: " + (names.empty() ? "none" : "NAME=VALUE with " + names);
      return false;
    }
    double value = 0;
    if (!read_value(*found, word.substr(equals + 1), &value)) {
      *why = "value is '" + std::string(word) + "', allowed: " + found->name + "=" + allowed(*found);
      return false;
    }
    config->set(found->name, value);
  }
  return true;
}

}  // namespace mrc::core
