#include "log_filter.h"

#include <absl/strings/str_split.h>
#include <strings.h>

#include <algorithm>
#include <string>

namespace mrc::nccl_net {

namespace {

constexpr unsigned long kDefaultSubsystems = NCCL_INIT | NCCL_BOOTSTRAP | NCCL_ENV;

struct Word {
  const char* text;
  unsigned long value;
};

constexpr Word kLevels[] = {{"VERSION", NCCL_LOG_VERSION},
                            {"WARN", NCCL_LOG_WARN},
                            {"INFO", NCCL_LOG_INFO},
                            {"ABORT", NCCL_LOG_ABORT},
                            {"TRACE", NCCL_LOG_TRACE}};

// NCCL_DESTROY and NCCL_ALLOC_HOST have no names there.
constexpr Word kSubsystems[] = {{"INIT", NCCL_INIT},
                                {"COLL", NCCL_COLL},
                                {"P2P", NCCL_P2P},
                                {"SHM", NCCL_SHM},
                                {"NET", NCCL_NET},
                                {"GRAPH", NCCL_GRAPH},
                                {"TUNING", NCCL_TUNING},
                                {"ENV", NCCL_ENV},
                                {"ALLOC", NCCL_ALLOC},
                                {"CALL", NCCL_CALL},
                                {"PROXY", NCCL_PROXY},
                                {"NVLS", NCCL_NVLS},
                                {"BOOTSTRAP", NCCL_BOOTSTRAP},
                                {"REG", NCCL_REG},
                                {"PROFILE", NCCL_PROFILE},
                                {"RAS", NCCL_RAS},
                                {"ALL", ~0UL}};

template <size_t N>
unsigned long value_of(const Word (&words)[N], const std::string& text) {
  for (const Word& word : words)
    if (strcasecmp(text.c_str(), word.text) == 0) return word.value;
  return 0;
}

// A list of names; with '^' in front, all but these.
unsigned long mask_of(const char* text) {
  if (text == nullptr) return kDefaultSubsystems;
  const bool all_but = *text == '^';
  unsigned long named = 0;
  for (const absl::string_view name : absl::StrSplit(text + (all_but ? 1 : 0), ','))
    named |= value_of(kSubsystems, std::string(name));
  return all_but ? ~named : named;
}

}  // namespace

LogFilter::LogFilter(const char* debug, const char* subsystems)
    : level_(debug == nullptr ? NCCL_LOG_NONE : static_cast<int>(value_of(kLevels, debug))),
      mask_(mask_of(subsystems)) {}

bool LogFilter::in_default_subsystems(unsigned long flags) {
  return (flags & kDefaultSubsystems) != 0;
}

}  // namespace mrc::nccl_net
