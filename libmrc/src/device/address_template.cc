#include "device/address_template.h"

#include <absl/strings/str_split.h>
#include <charconv>
#include <optional>
#include <vector>

namespace mrc::device {

namespace {

std::optional<int32_t> to_int(const std::string& text, int base, int32_t min, int32_t max) {
  int32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stopped != end || number < min || number > max) return std::nullopt;
  return number;
}

}  // namespace

Result<AddressTemplate::Part> AddressTemplate::parse_part(const std::string& text, bool v4) {
  const bool plane = text.rfind("{plane", 0) == 0, host = text.rfind("{host", 0) == 0;
  if ((plane || host) && text.back() == '}') {
    const Kind kind = plane ? Kind::kPlane : Kind::kHost;
    const size_t name = plane ? 6 : 5;
    std::string shift = text.substr(name, text.size() - name - 1);
    if (shift.empty()) return Part{kind, 0};
    const bool signed_number = shift.size() > 1 && (shift[0] == '+' || shift[0] == '-');
    if (shift[0] == '+') shift.erase(0, 1);
    const std::optional<int32_t> by = to_int(shift, 10, -65535, 65535);
    if (signed_number && by) return Part{kind, *by};
  } else if (const std::optional<int32_t> number = to_int(text, v4 ? 10 : 16, 0, v4 ? 255 : 65535)) {
    return Part{Kind::kLiteral, *number};
  }
  return invalid("'" + text + "' is neither a number nor {plane}, {plane+N}, {plane-N}, {host}, {host+N} or {host-N}");
}

Result<AddressTemplate> AddressTemplate::parse(const std::string& text) {
  AddressTemplate t;
  t.text_ = text;
  t.v4_ = text.find(':') == std::string::npos;
  std::vector<std::string> parts;
  if (t.v4_) {
    parts = absl::StrSplit(text, '.');
    if (parts.size() != 4) return invalid("an IPv4 template has 4 parts, this one has " + std::to_string(parts.size()));
  } else {
    const size_t gap = text.find("::");
    if (gap == std::string::npos) {
      parts = absl::StrSplit(text, ':');
    } else {
      if (gap > 0) parts = absl::StrSplit(text.substr(0, gap), ':');
      std::vector<std::string> tail;
      if (gap + 2 < text.size()) tail = absl::StrSplit(text.substr(gap + 2), ':');
      while (parts.size() + tail.size() < 8) parts.push_back("0");
      parts.insert(parts.end(), tail.begin(), tail.end());
    }
    if (parts.size() != 8)
      return invalid("an IPv6 template has 8 groups or one '::', this one has " + std::to_string(parts.size()) +
                     " groups");
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    Result<Part> part = parse_part(parts[i], t.v4_);
    if (!part) return std::move(part).error();
    t.parts_[i] = *part;
  }
  return t;
}

IpAddress AddressTemplate::apply(const IpAddress& gid, uint32_t plane) const {
  IpAddress result = v4_ ? IpAddress::v4(0, 0, 0, 0) : IpAddress();
  for (size_t i = 0; i < (v4_ ? 4u : 8u); ++i) {
    const size_t at = v4_ ? 12 + i : 2 * i;
    const Part& part = parts_[i];
    const auto planes_before = static_cast<int32_t>(plane);
    int32_t value = part.value;
    if (part.kind == Kind::kPlane) value += planes_before + 1;
    if (part.kind == Kind::kHost)
      value = (v4_ ? gid.bytes[at] : gid.bytes[at] << 8 | gid.bytes[at + 1]) + part.value * planes_before;
    if (!v4_) result.bytes[at] = static_cast<uint8_t>(value >> 8);
    result.bytes[v4_ ? at : at + 1] = static_cast<uint8_t>(value);
  }
  return result;
}

std::optional<IpAddress> AddressTemplate::host_at(const IpAddress& addr, uint32_t plane) const {
  if (addr.is_v4() != v4_) return std::nullopt;
  IpAddress gid = addr;
  for (size_t i = 0; i < (v4_ ? 4u : 8u); ++i) {
    if (parts_[i].kind != Kind::kHost) continue;
    const size_t at = v4_ ? 12 + i : 2 * i;
    const int32_t shifted = v4_ ? addr.bytes[at] : addr.bytes[at] << 8 | addr.bytes[at + 1];
    const int32_t host = shifted - parts_[i].value * static_cast<int32_t>(plane);
    if (!v4_) gid.bytes[at] = static_cast<uint8_t>(host >> 8);
    gid.bytes[v4_ ? at : at + 1] = static_cast<uint8_t>(host);
  }
  if (apply(gid, plane) != addr) return std::nullopt;  // another literal, or another plane
  return apply(gid, 0);
}

}  // namespace mrc::device
