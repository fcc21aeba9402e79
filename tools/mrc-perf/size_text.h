// Sizes as people write them: 2, 4K, 1M, 64MiB (powers of 1024), lists and sweeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mrc::perf {

inline constexpr uint64_t kMaxSize = 1ULL << 30;  // of one message, as verbs has it
inline constexpr size_t kMaxSizes = 4096;         // in one run

// Throws UsageError with the offending text.
uint64_t parse_size(const std::string& text);

// "4K,64K,1M" or "4K-64M": the second form multiplies by four from the first to the last, which is always included.
std::vector<uint64_t> parse_sizes(const std::string& text);

// 1048576 -> "1M", 1000 -> "1000".
std::string size_text(uint64_t bytes);

}  // namespace mrc::perf
