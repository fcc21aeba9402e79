#include "ev.h"

#include <charconv>
#include <string_view>

namespace mrc::log {

namespace {

std::optional<uint64_t> unsigned_of(std::string_view text, uint64_t max) {
  int base = 10;
  if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

}  // namespace

std::optional<EvFilter> parse_ev(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string_view all = text;
  if (colon == std::string::npos) {
    const auto value = unsigned_of(all, UINT32_MAX);
    return value && *value != 0 ? std::optional(EvFilter{*value}) : std::nullopt;
  }
  const auto label = unsigned_of(all.substr(0, colon), UINT16_MAX),
             port = unsigned_of(all.substr(colon + 1), UINT16_MAX);
  if (!label || !port || *label == 0) return std::nullopt;
  // mrcctl probe prints 0 for the port where the label alone names the path.
  return EvFilter{*port == 0 ? *label : *label << 16 | *port};
}

}  // namespace mrc::log
