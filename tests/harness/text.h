// Values that tests write as text: addresses, and bytes in hex.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/ip.h"

namespace mrc::testing_text {

inline IpAddress ip(const std::string& text) {
  const std::optional<IpAddress> address = IpAddress::parse(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress());
}

inline std::string hex(const uint8_t* bytes, size_t n) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace mrc::testing_text
