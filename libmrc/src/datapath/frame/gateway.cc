#include "datapath/frame/gateway.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>

#include <charconv>
#include <optional>

namespace mrc::datapath {

namespace {

std::optional<MacAddress> parse_mac(const std::string& text) {
  constexpr size_t kLength = 17;  // 02:00:00:00:00:01
  if (text.size() != kLength) return std::nullopt;
  MacAddress mac{};
  for (size_t i = 0; i < mac.size(); ++i) {
    const char* at = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(at, at + 2, mac[i], 16);
    if (error != std::errc() || end != at + 2 || (i + 1 < mac.size() && *end != ':')) return std::nullopt;
  }
  return mac;
}

std::optional<Gateway> parse_one(const std::string& text) {
  Gateway gateway;
  if (text == "link") return gateway;
  if (const std::optional<MacAddress> mac = parse_mac(text)) {
    gateway.kind = Gateway::Kind::kMac;
    gateway.mac = *mac;
    return gateway;
  }
  const std::optional<IpAddress> address = IpAddress::parse(text);
  if (!address || address->is_v4()) return std::nullopt;
  gateway.kind = Gateway::Kind::kAddress;
  gateway.address = *address;
  return gateway;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (const absl::string_view part : absl::StrSplit(text, absl::ByAnyChar(";\n"), absl::SkipWhitespace()))
    parts.emplace_back(absl::StripAsciiWhitespace(part));
  return parts;
}

Result<std::vector<Gateway>> parse_gateways(const std::string& text, uint32_t planes) {
  const std::vector<std::string> parts = split_list(text);
  std::vector<Gateway> gateways(planes);
  if (parts.empty()) return gateways;
  if (parts.size() != 1 && parts.size() != planes)
    return invalid(std::to_string(parts.size()) + " gateways for " + std::to_string(planes) +
                   " planes: write one for all or one for each, ';' between");
  for (uint32_t p = 0; p < planes; ++p) {
    const std::string& part = parts[parts.size() == 1 ? 0 : p];
    const std::optional<Gateway> gateway = parse_one(part);
    if (!gateway)
      return invalid("'" + part +
                     "' is no gateway: allowed are an IPv6 address, a MAC address such as 02:00:00:00:00:01, and link");
    gateways[p] = *gateway;
  }
  return gateways;
}

}  // namespace mrc::datapath
