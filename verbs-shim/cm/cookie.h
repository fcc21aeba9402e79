// Cookies: a client has to return what the listener sent to its address before the listener keeps any state for it, as
// with DTLS's HelloVerifyRequest. A cookie is a keyed hash (SipHash-2-4) of the client's address, port and number, and
// of the time in steps of half a minute; it is valid in its step and the next. [CM-COOKIE-1]
#pragma once

#include "cm/message.h"

namespace mrc::shim::cm {

using Key = std::array<uint64_t, 2>;

uint64_t siphash(const Key& key, const uint8_t* bytes, size_t size);

class Cookies {
 public:
  explicit Cookies(const Key& key) : key_(key) {}
  uint64_t make(uint64_t now, const Address& client, uint64_t number) const { return hash(step(now), client, number); }
  bool check(uint64_t now, const Address& client, uint64_t number, uint64_t cookie) const {
    return cookie == hash(step(now), client, number) || cookie == hash(step(now) - 1, client, number);
  }

 private:
  static uint64_t step(uint64_t now) { return now / 30'000'000'000ull; }
  uint64_t hash(uint64_t step, const Address& client, uint64_t number) const;
  const Key key_;
};

}  // namespace mrc::shim::cm
