#include "core/congestion/registry.h"

#include <cstring>

#include "append_item.h"

namespace mrc::core {
namespace {

#define MRC_ADDRESS_OF(constant) &constant,
constexpr const CongestionAlgorithm* kAlgorithms[] = {MRC_CONGESTION_ALGORITHMS(MRC_ADDRESS_OF)};
#undef MRC_ADDRESS_OF

}  // namespace

absl::Span<const CongestionAlgorithm* const> congestion_algorithms() {
  return kAlgorithms;
}

const CongestionAlgorithm* find_congestion_algorithm(std::string_view name) {
  for (const CongestionAlgorithm* a : kAlgorithms)
    if (name == a->name) return a;
  return nullptr;
}

const CongestionAlgorithm* find_profile_algorithm(const char* name) {
  if (name == nullptr) return &kNoCongestionControl;
  for (const CongestionAlgorithm* a : kAlgorithms)
    if (a->profile_name != nullptr && std::strcmp(name, a->profile_name) == 0) return a;
  return nullptr;
}

std::string congestion_algorithm_names() {
  std::string names;
  for (const CongestionAlgorithm* a : kAlgorithms) append_item(&names, a->name, " ");
  return names;
}

const CongestionAlgorithm& chosen_algorithm(const CongestionConfig& config) {
  return config.algorithm != nullptr ? *config.algorithm : *kAlgorithms[0];
}

std::unique_ptr<CongestionControl> make_congestion_control(const CongestionConfig& config, const CongestionFlow& flow,
                                                           Instant now) {
  return chosen_algorithm(config).make(config, flow, now);
}

void CongestionConfig::set(const char* name, double value) {
  for (auto& [known, old] : parameters_) {
    if (known != name) continue;
    old = value;
    return;
  }
  parameters_.emplace_back(name, value);
}

double CongestionConfig::get(const char* name, double unset) const {
  for (const auto& [known, value] : parameters_)
    if (known == name) return value;
  return unset;
}

Duration CongestionConfig::get_time(const char* name) const {
  return Duration::nanoseconds(static_cast<int64_t>(get(name, 0)));
}

}  // namespace mrc::core
