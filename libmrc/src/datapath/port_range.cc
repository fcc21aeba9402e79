#include "datapath/port_range.h"

#include <charconv>

namespace mrc::datapath {

namespace {

constexpr uint16_t kFirstUnprivileged = 1024;

std::optional<uint16_t> parse_port(const char* begin, const char* end) {
  uint16_t port = 0;
  const auto [stopped, error] = std::from_chars(begin, end, port);
  if (error != std::errc() || stopped != end || port < kFirstUnprivileged) return std::nullopt;
  return port;
}

}  // namespace

PortRange PortRange::part(uint32_t n, uint32_t parts) const {
  const uint32_t width = size() / parts;
  const uint32_t begin = first + n * width;
  return {static_cast<uint16_t>(begin), static_cast<uint16_t>(begin + width - 1)};
}

std::optional<PortRange> parse_port_range(const std::string& text) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const std::optional<uint16_t> first = parse_port(text.data(), text.data() + dash);
  const std::optional<uint16_t> last = parse_port(text.data() + dash + 1, text.data() + text.size());
  if (!first || !last || *first > *last) return std::nullopt;
  return PortRange{*first, *last};
}

}  // namespace mrc::datapath
