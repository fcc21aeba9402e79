#include "device/ignored_input.h"

#include "append_item.h"
#include "device/log.h"

namespace mrc::device {

namespace {

constexpr std::array<const char*, IgnoredInput::kKinds> kIgnoredNames = {"message", "call", "deny rule", "port",
                                                                         "path change"};

}  // namespace

void IgnoredInput::add(Kind kind, const std::string& why) {
  const auto k = static_cast<size_t>(kind);
  if (counts_[k]++ != 0) return;
  log_line(LogLevel::kWarn, "device '" + device_ + "': ignored a " + kIgnoredNames[k] + " from mrcd: " + why +
                                "; later ones are counted but not logged");
}

void IgnoredInput::log_totals() const {
  std::string text;
  for (size_t k = 0; k < kKinds; ++k)
    if (counts_[k] != 0) append_item(&text, std::string(kIgnoredNames[k]) + ": " + std::to_string(counts_[k]));
  if (!text.empty()) log_line(LogLevel::kInfo, "device '" + device_ + "': ignored input from mrcd: " + text);
}

}  // namespace mrc::device
