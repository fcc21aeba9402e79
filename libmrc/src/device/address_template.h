// Template for the address of a peer on a plane as a function of its GID, written as an address with placeholders:
//
//     fd00:0:{plane}::{host}      10.{plane}.{host}.{host}
//
// {plane} is the number of the plane, from 1; {plane+N} and {plane-N} shift it. {host} is the same part of the GID:
// 16 bits in an IPv6 template, 8 bits in an IPv4 template; {host+N} and {host-N} change it by N for every plane after
// the first, for plane numbers in the upper bits of a uSID. Other characters are literal.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ip.h"
#include "result.h"

namespace mrc::device {

class AddressTemplate {
 public:
  // EINVAL when the text is no template.
  static Result<AddressTemplate> parse(const std::string& text);
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  // `plane` counts from 0.
  IpAddress apply(const IpAddress& gid, uint32_t plane) const;
  // The GID that stands for the host with this address on the plane: its address on the first one, of which apply()
  // makes the same addresses as of its GID. None: the template makes no such address.
  std::optional<IpAddress> host_at(const IpAddress& addr, uint32_t plane) const;

 private:
  enum class Kind : uint8_t { kLiteral, kPlane, kHost };
  struct Part {
    Kind kind = Kind::kLiteral;
    int32_t value = 0;  // literal; added to the plane number; added to the host with every further plane
  };
  static Result<Part> parse_part(const std::string& text, bool v4);

  std::string text_;
  bool v4_ = false;
  std::array<Part, 8> parts_{};  // 8 groups, or 4 octets
};

}  // namespace mrc::device
