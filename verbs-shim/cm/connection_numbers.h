// ConnectionNumbers: numbers that cannot be guessed: a message with the right one is from the peer or from a host on
// the path. [CM-MSG-3]
#pragma once

#include <cstdint>
#include <cstring>

#include "cm/cookie.h"

namespace mrc::shim::cm {

class ConnectionNumbers {
 public:
  explicit ConnectionNumbers(const Key& key) : key_(key) {}
  // Not 0, and none for which `taken` is true.
  template <typename Taken>
  uint64_t draw(const Taken& taken) {
    for (;;) {
      ++drawn_;
      uint8_t text[9];
      std::memcpy(text, &drawn_, sizeof drawn_);
      text[8] = 'n';  // unlike the text of a cookie, which has the same key
      const uint64_t number = siphash(key_, text, sizeof text);
      if (number != 0 && !taken(number)) return number;
    }
  }

 private:
  const Key key_;
  uint64_t drawn_ = 0;
};

}  // namespace mrc::shim::cm
