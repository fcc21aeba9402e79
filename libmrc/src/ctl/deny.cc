#include "ctl/deny.h"

#include <absl/strings/str_split.h>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "append_item.h"
#include "ctl/printable.h"
#include "ctl/whole.h"

namespace mrc::ctl {

namespace {

using Json = nlohmann::json;

constexpr uint32_t kMaxUsids = 12;
constexpr uint32_t kMaxPlane = 32;
constexpr uint32_t kAddressBits = 128;

std::string hex4(uint16_t value) {
  char text[8];
  std::snprintf(text, sizeof text, "%04x", value);
  return text;
}

template <typename T>
bool parse_number(const std::string& text, int base, T* out) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool is_hex(const std::string& text) {
  return text.rfind("0x", 0) == 0 || text.rfind("0X", 0) == 0;
}

// Hexadecimal after 0x, else decimal, with any number of zeros in front.
bool parse_either(const std::string& text, uint16_t* out) {
  return is_hex(text) ? parse_number(text.substr(2), 16, out) : parse_number(text, 10, out);
}

// "49152", "0x0003", "0x0003:49152", and the same numbers written otherwise.
bool parse_ev(const std::string& text, DenyRule* out) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    uint16_t* const only = is_hex(text) ? &out->label : &out->port;
    return parse_either(text, only) && *only != 0;
  }
  return parse_either(text.substr(0, colon), &out->label) && parse_either(text.substr(colon + 1), &out->port) &&
         (out->label != 0 || out->port != 0);
}

std::string ev_of(const DenyRule& rule) {
  std::string port = rule.port != 0 ? std::to_string(rule.port) : "";
  if (rule.label == 0) return port;
  return "0x" + hex4(rule.label) + (port.empty() ? "" : ":" + port);
}

std::string via_of(const DenyRule& rule) {
  std::string text;
  for (uint16_t usid : rule.via) append_item(&text, hex4(usid), ":");
  return text;
}

bool parse_via(const std::string& text, DenyRule* out) {
  if (text.empty()) return true;
  for (const absl::string_view part : absl::StrSplit(text, ':')) {
    uint16_t usid = 0;
    if (!parse_number(std::string(part), 16, &usid) || usid == 0) return false;
    out->via.push_back(usid);
  }
  return out->via.size() <= kMaxUsids;
}

// An IPv4 prefix counts its bits from the front of the IPv4 address.
bool parse_prefix(const std::string& text, DenyRule* out) {
  const size_t slash = text.find('/');
  const std::optional<IpAddress> address = IpAddress::parse(text.substr(0, slash));
  if (!address) return false;
  out->to = *address;
  const uint32_t front = out->to.is_v4() ? kAddressBits - 32 : 0;
  out->to_bits = kAddressBits - front;
  if (slash != std::string::npos && !parse_number(text.substr(slash + 1), 10, &out->to_bits)) return false;
  out->to_bits += front;
  return out->to_bits <= kAddressBits;
}

// No prefix, or that of all addresses of a family.
bool is_everybody(const DenyRule& rule) {
  return rule.to_bits <= (rule.to.is_v4() ? kAddressBits - 32 : 0);
}

std::string prefix_of(const DenyRule& rule) {
  if (rule.to_bits == 0) return "";
  const uint32_t front = rule.to.is_v4() ? kAddressBits - 32 : 0;
  return rule.to.to_string() + "/" + std::to_string(rule.to_bits - std::min(front, rule.to_bits));
}

}  // namespace

bool DenyRule::same_paths(const DenyRule& o) const {
  return plane == o.plane && label == o.label && port == o.port && via == o.via && to == o.to && to_bits == o.to_bits;
}

bool DenyRule::is_whole_plane() const {
  return plane != 0 && label == 0 && port == 0 && via.empty() && is_everybody(*this);
}

bool in_prefix(const IpAddress& address, const IpAddress& prefix, uint32_t bits) {
  for (uint32_t i = 0; i < bits; ++i)
    if (((address.bytes[i / 8] ^ prefix.bytes[i / 8]) >> (7 - i % 8) & 1) != 0) return false;
  return true;
}

bool covers(const DenyRule& rule, const PathView& path) {
  if (rule.plane != 0 && rule.plane != path.plane) return false;
  if (rule.label != 0 && rule.label != path.ev >> 16) return false;
  if (rule.port != 0 && rule.port != (path.ev & 0xFFFF)) return false;
  if (std::search(path.usids.begin(), path.usids.end(), rule.via.begin(), rule.via.end()) == path.usids.end() &&
      !rule.via.empty())
    return false;
  return rule.to_bits == 0 || std::any_of(path.peer.begin(), path.peer.end(), [&](const IpAddress& address) {
           return !address.is_zero() && in_prefix(address, rule.to, rule.to_bits);
         });
}

Json deny_json(const DenyRule& rule) {
  Json j = {{"plane", rule.plane}};
  if (rule.label != 0 || rule.port != 0) j["ev"] = ev_of(rule);
  if (!rule.via.empty()) j["via"] = via_of(rule);
  if (rule.to_bits != 0) j["to"] = prefix_of(rule);
  if (!rule.by.empty()) j["by"] = rule.by;
  if (!rule.why.empty()) j["why"] = rule.why;
  return j;
}

Result<DenyRule> parse_deny(const Json& j) {
  DenyRule made;
  try {
    const std::string ev = j.value("ev", ""), via = j.value("via", ""), to = j.value("to", "");
    made.plane = j.value("plane", Whole<uint32_t>(0));
    made.by = j.value("by", "");
    made.why = j.value("why", "");
    if (made.plane > kMaxPlane) return invalid("a plane is a number from 1 to 32, or 0 for all");
    if (!ev.empty() && !parse_ev(ev, &made)) return invalid("'" + ev + "' is no EV: 49152, 0x0003 or 0x0003:49152");
    if (!parse_via(via, &made)) return invalid("'" + via + "' is no list of uSIDs: f101 or f101:e102");
    if (!to.empty() && !parse_prefix(to, &made))
      return invalid("'" + to + "' is no address or prefix: fd00::1 or fd00::/16");
    if (!is_printable(made.by) || !is_printable(made.why))
      return invalid("by and why are texts without control characters");
    if (made.plane == 0 && ev.empty() && via.empty() && is_everybody(made))
      return invalid("a rule names a plane, an EV, uSIDs or a peer: this one would leave no path at all");
    return made;
  } catch (const Json::exception&) {
    return invalid("a rule has plane (whole number), ev, via, to, by and why (texts)");
  }
}

std::string deny_text(const DenyRule& rule) {
  std::string text;
  if (rule.plane != 0) append_item(&text, "plane " + std::to_string(rule.plane));
  if (const std::string ev = ev_of(rule); !ev.empty()) append_item(&text, "EV " + ev);
  if (!rule.via.empty()) append_item(&text, "via " + via_of(rule));
  if (rule.to_bits != 0) append_item(&text, "to " + prefix_of(rule));
  return text;
}

}  // namespace mrc::ctl
