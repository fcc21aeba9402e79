// Parameters of an algorithm as text: "gamma=0.5, target_delay=15us".
#include <absl/strings/str_split.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "append_item.h"
#include "core/congestion/registry.h"

namespace mrc::core {
namespace {

struct TimeUnit {
  const char* suffix;
  double ns;
};
constexpr TimeUnit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

// A finite number, and what follows it in the text.
std::optional<std::pair<double, std::string_view>> read_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  return std::pair(number, text.substr(static_cast<size_t>(end - text.data())));
}

// In nanoseconds; only 0 needs no unit.
std::optional<double> in_ns(double number, std::string_view suffix) {
  if (number == 0 && suffix.empty()) return 0;
  for (const TimeUnit& unit : kTimeUnits)
    if (suffix == unit.suffix) return number * unit.ns;
  return std::nullopt;
}

std::optional<double> read_value(const CongestionParameter& p, std::string_view text) {
  if (p.unit == CongestionUnit::kFlag) {
    if (text != "true" && text != "false") return std::nullopt;
    return text == "true" ? 1 : 0;
  }
  const auto read = read_number(text);
  if (!read) return std::nullopt;
  const auto [number, rest] = *read;
  std::optional<double> value = number;
  if (p.unit == CongestionUnit::kTime)
    value = in_ns(number, rest);
  else if (!rest.empty())
    return std::nullopt;
  const bool whole = p.unit == CongestionUnit::kBytes || p.unit == CongestionUnit::kCount;
  if (!value || *value < p.low || *value > p.high || (whole && *value != std::floor(*value))) return std::nullopt;
  return value;
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

Status set_congestion_parameters(const std::string& text, CongestionConfig* config) {
  const CongestionAlgorithm& algorithm = chosen_algorithm(*config);
  const std::vector<std::string> words = absl::StrSplit(text, absl::ByAnyChar(" ,\t\n"), absl::SkipEmpty());
  for (const std::string_view word : words) {
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const CongestionParameter* found = nullptr;
    std::string names;
    for (const CongestionParameter& p : algorithm.parameters) {
      if (name == p.name) found = &p;
      append_item(&names, p.name);
    }
    if (found == nullptr || equals == word.npos)
      return invalid("'" + std::string(word) + "' is no parameter of " + algorithm.name +
                     ", allowed: " + (names.empty() ? "none" : "NAME=VALUE with " + names));
    const std::optional<double> value = read_value(*found, word.substr(equals + 1));
    if (!value) return invalid("value is '" + std::string(word) + "', allowed: " + found->name + "=" + allowed(*found));
    config->set(found->name, *value);
  }
  return {};
}

}  // namespace mrc::core
