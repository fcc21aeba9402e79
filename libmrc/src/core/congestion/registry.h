// The available congestion control algorithms. Settings, CC profiles and the simulator choose by name, and their
// messages list the names from here [MRC-CC-11]. How to add one: spec/congestion.md.
#pragma once

#include <absl/types/span.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/congestion/config.h"
#include "core/congestion/control.h"
#include "result.h"

namespace mrc::core {

enum class CongestionUnit : uint8_t { kNumber, kCount, kBytes, kTime, kFlag };

// `low` and `high` in the unit: times in nanoseconds.
struct CongestionParameter {
  const char* name;
  CongestionUnit unit;
  double low, high;
  const char* unset;  // the default, for documentation
  const char* sentence;
};

struct CongestionAlgorithm {
  const char* name;          // of settings and of the simulator
  const char* profile_name;  // of CC profiles (mrc_ctl.h); null: a profile without an algorithm
  const char* sentence;
  absl::Span<const CongestionParameter> parameters;
  std::unique_ptr<CongestionControl> (*make)(const CongestionConfig&, const CongestionFlow&, Instant now);
};

// In the order of the table below.
absl::Span<const CongestionAlgorithm* const> congestion_algorithms();
// Null: unknown name.
const CongestionAlgorithm* find_congestion_algorithm(std::string_view name);
// `name` null: no congestion control. Null: no profile can have it.
const CongestionAlgorithm* find_profile_algorithm(const char* name);
// With one space between.
std::string congestion_algorithm_names();
// The configured one, or the default.
const CongestionAlgorithm& chosen_algorithm(const CongestionConfig& config);
// "gamma=0.5, target_delay=15us": parameters of config's algorithm, separated by spaces or commas. EINVAL
// lists the allowed ones, and some may be set already.
Status set_congestion_parameters(const std::string& text, CongestionConfig* config);
std::unique_ptr<CongestionControl> make_congestion_control(const CongestionConfig& config, const CongestionFlow& flow,
                                                           Instant now);

// Every algorithm: one file that defines the constant, one line here. The first is the default.
#define MRC_CONGESTION_ALGORITHMS(X) \
  X(kNsccAlgorithm)                  \
  X(kSwiftAlgorithm)                 \
  X(kNoCongestionControl)

#define MRC_DECLARE_ALGORITHM(constant) extern const CongestionAlgorithm constant;
MRC_CONGESTION_ALGORITHMS(MRC_DECLARE_ALGORITHM)
#undef MRC_DECLARE_ALGORITHM

}  // namespace mrc::core
