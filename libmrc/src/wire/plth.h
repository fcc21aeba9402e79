// PLTH, 36 bytes: plane request and plane response, our extension by which a peer is asked for its addresses on the
// planes beyond the first [MRC-EXT-1..4, spec/wire.md], and, with an SPTH behind it, for its source ports [MRC-EXT-8].
// Request and response have the same size, so that a forged request is not amplified.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ip.h"
#include "wire/bytes.h"

namespace mrc::wire {

struct Plth {
  static constexpr uint32_t kSize = 36;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint32_t kReady = 1u << 31;
  static constexpr uint32_t kPorts = 1u << 30;

  uint8_t version = kVersion;
  uint8_t plane = 0;       // asked for, from 0
  uint8_t planes = 0;      // how many planes the sender has
  uint8_t slot = 0;        // of the sender's process; the answer goes to the port of the asker's slot
  uint64_t nonce = 0;      // comes back in the response
  IpAddress addr;          // the sender's on that plane; zero in a response: the responder lacks it
  uint16_t port = 0;       // response: where process slot 0 listens there
  uint16_t port_base = 0;  // response: slot k > 0 listens on port_base + k; 0: every slot on `port`
  bool ready = false;      // response: packets from the asker's address on that plane are heard
  bool ports = false;      // an SPTH follows; the encoders set it

  void encode(uint8_t* p) const {
    p[0] = version;
    p[1] = plane;
    p[2] = planes;
    p[3] = slot;
    put64(p + 4, nonce);
    std::copy(addr.bytes.begin(), addr.bytes.end(), p + 12);
    put16(p + 28, port);
    put16(p + 30, port_base);
    put32(p + 32, (ready ? kReady : 0) | (ports ? kPorts : 0));
  }
  static Plth decode(const uint8_t* p) {
    Plth h;
    h.version = p[0];
    h.plane = p[1];
    h.planes = p[2];
    h.slot = p[3];
    h.nonce = get64(p + 4);
    std::copy(p + 12, p + 28, h.addr.bytes.begin());
    h.port = get16(p + 28);
    h.port_base = get16(p + 30);
    const uint32_t flags = get32(p + 32);
    h.ready = (flags & kReady) != 0;
    h.ports = (flags & kPorts) != 0;
    return h;
  }
};

static_assert(sizeof(Plth) == 40);

}  // namespace mrc::wire
