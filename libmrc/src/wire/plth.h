// PLTH, 36 bytes: plane request and plane response, our extension, which queries a peer for its addresses on the
// planes beyond the first [MRC-EXT-1..4, spec/wire.md], and, with an SPTH behind it, for its source ports [MRC-EXT-8].
// Request and response have the same size, so that a forged request is not amplified.
#pragma once

#include <cstdint>

#include "wire/codec.h"

namespace mrc::wire {

struct Plth {
  static constexpr uint8_t kVersion = 1;

  uint8_t version = kVersion;
  uint8_t plane = 0;       // queried, from 0
  uint8_t planes = 0;      // number of planes of the sender
  uint8_t slot = 0;        // of the sender's process; the response is sent to the port of the requester's slot
  uint64_t nonce = 0;      // copied into the response
  IpAddress addr;          // the sender's on that plane; zero in a response: the responder has none
  uint16_t port = 0;       // response: where process slot 0 listens there
  uint16_t port_base = 0;  // response: slot k > 0 listens on port_base + k; 0: every slot on `port`
  bool ready = false;      // response: packets from the requester's address on that plane are accepted
  bool ports = false;      // an SPTH follows; the encoders set it

  static constexpr auto kFields = std::tuple{
      field<&Plth::version>("version", 0, 7, 8, "Version"),
      field<&Plth::plane>("plane", 1, 7, 8, "Queried plane, from 0"),
      field<&Plth::planes>("planes", 2, 7, 8, "Planes of the sender"),
      field<&Plth::slot>("slot", 3, 7, 8, "Process slot"),
      field<&Plth::nonce>("nonce", 4, 7, 64, "Nonce").hex(),
      field<&Plth::addr>("addr", 12, 7, 128, "Address on that plane; IPv4 as ::ffff:a.b.c.d"),
      field<&Plth::port>("port", 28, 7, 16, "Port of process slot 0"),
      field<&Plth::port_base>("port_base", 30, 7, 16, "Port base"),
      field<&Plth::ready>("ready", 32, 7, 1, "The requester's address is accepted"),
      field<&Plth::ports>("ports", 32, 6, 1, "An SPTH follows").no_text(),
      reserved(32, 5, 6),
      reserved(33, 7, 24),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"PLTH", "Plane Header (extension)", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Plth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Plth>(in); }
};

static_assert(sizeof(Plth) == 40 && Plth::kSize == 36);

}  // namespace mrc::wire
