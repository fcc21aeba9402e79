#include "datapath/frame/gateway.h"

#include <algorithm>
#include <charconv>

namespace mrc::datapath {

namespace {

bool parse_mac(const std::string& text, MacAddress* out) {
  constexpr size_t kLength = 17;  // 02:00:00:00:00:01
  if (text.size() != kLength) return false;
  for (size_t i = 0; i < out->size(); ++i) {
    const char* at = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(at, at + 2, (*out)[i], 16);
    if (error != std::errc() || end != at + 2 || (i + 1 < out->size() && *end != ':')) return false;
  }
  return true;
}

bool parse_one(const std::string& text, Gateway* out) {
  if (text == "link") return true;
  if (parse_mac(text, &out->mac)) {
    out->kind = Gateway::Kind::kMac;
    return true;
  }
  out->kind = Gateway::Kind::kAddress;
  return IpAddress::parse(text, &out->address) && !out->address.is_v4();
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find_first_of(";\n", begin), text.size());
    const size_t first = text.find_first_not_of(" \t\r", begin);
    if (first < end) parts.push_back(text.substr(first, text.find_last_not_of(" \t\r", end - 1) - first + 1));
    begin = end + 1;
  }
  return parts;
}

bool parse_gateways(const std::string& text, uint32_t planes, std::vector<Gateway>* out, std::string* why) {
  const std::vector<std::string> parts = split_list(text);
  out->assign(planes, Gateway());
  if (parts.empty()) return true;
  if (parts.size() != 1 && parts.size() != planes) {
    *why = std::to_string(parts.size()) + " gateways for " + std::to_string(planes) +
           " planes: write one for all or one for each, ';' between";
    return false;
  }
  for (uint32_t p = 0; p < planes; ++p) {
    const std::string& part = parts[parts.size() == 1 ? 0 : p];
    if (parse_one(part, &(*out)[p])) continue;
    *why =
        "'" + part + "' is no gateway: allowed are an IPv6 address, a MAC address such as 02:00:00:00:00:01, and link";
    return false;
  }
  return true;
}

}  // namespace mrc::datapath
