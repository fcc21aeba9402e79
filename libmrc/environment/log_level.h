// The levels of MRC_LOG, declared once for libmrc (device/setting_words.h) and the verbs shim, which reads the variable
// before it loads libmrc. Plain functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mrc {

// W(enumerator, "word"), from the fewest messages to the most.
#define MRC_WORDS_LOG_LEVEL(W) W(kOff, "off") W(kError, "error") W(kWarn, "warn") W(kInfo, "info") W(kDebug, "debug")

#define MRC_LOG_LEVEL_ENUMERATOR(enumerator, word) enumerator,
enum class LogLevel : uint8_t { MRC_WORDS_LOG_LEVEL(MRC_LOG_LEVEL_ENUMERATOR) };
#undef MRC_LOG_LEVEL_ENUMERATOR

// None: not a word of the table.
constexpr std::optional<LogLevel> log_level_of(std::string_view text) {
#define MRC_LOG_LEVEL_MATCH(enumerator, word) \
  if (text == word) return LogLevel::enumerator;
  MRC_WORDS_LOG_LEVEL(MRC_LOG_LEVEL_MATCH)
#undef MRC_LOG_LEVEL_MATCH
  return std::nullopt;
}

}  // namespace mrc
