#include "cm/cookie.h"

namespace mrc::shim::cm {

namespace {

uint64_t rotated(uint64_t v, int by) {
  return v << by | v >> (64 - by);
}

struct Sip {
  uint64_t v0, v1, v2, v3;
  void round() {
    v0 += v1, v2 += v3;
    v1 = rotated(v1, 13) ^ v0, v3 = rotated(v3, 16) ^ v2;
    v0 = rotated(v0, 32);
    v2 += v1, v0 += v3;
    v1 = rotated(v1, 17) ^ v2, v3 = rotated(v3, 21) ^ v0;
    v2 = rotated(v2, 32);
  }
  void word(uint64_t w) {
    v3 ^= w;
    round();
    round();
    v0 ^= w;
  }
};

}  // namespace

uint64_t siphash(const Key& key, const uint8_t* bytes, size_t size) {
  Sip s{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
        key[1] ^ 0x7465646279746573};
  uint64_t word = 0;
  for (size_t i = 0; i < size; ++i) {
    word |= static_cast<uint64_t>(bytes[i]) << (8 * (i % 8));
    if (i % 8 != 7) continue;
    s.word(word);
    word = 0;
  }
  s.word(word | static_cast<uint64_t>(size) << 56);
  s.v2 ^= 0xFF;
  for (int i = 0; i < 4; ++i) s.round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t Cookies::hash(uint64_t step, const Address& client, uint64_t number) const {
  std::array<uint8_t, 34> text;
  std::memcpy(&text[0], client.ip.data(), 16);
  std::memcpy(&text[16], &client.port, 2);
  std::memcpy(&text[18], &number, 8);
  std::memcpy(&text[26], &step, 8);
  return siphash(key_, text.data(), text.size());
}

}  // namespace mrc::shim::cm
