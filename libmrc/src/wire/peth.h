// PETH, 16 bytes: reliability probe request [MRC-PROBE-1..3, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/bytes.h"
#include "wire/tseth.h"

namespace mrc::wire {

struct Peth {
  static constexpr uint32_t kSize = 16;

  uint8_t vendor_info = 0;
  uint16_t probe_id = 0;  // the requester's own; comes back in SETH
  uint16_t spdcid = 0;
  uint16_t dpdcid = 0;
  Tseth timestamp;  // last four bytes, laid out as a TSETH

  void encode(uint8_t* p) const {
    put16(p, 0);
    p[2] = 0;
    p[3] = vendor_info;
    put16(p + 4, probe_id);
    put16(p + 6, 0);
    put16(p + 8, spdcid);
    put16(p + 10, dpdcid);
    timestamp.encode(p + 12);
  }
  static Peth decode(const uint8_t* p) {
    Peth h;
    h.vendor_info = p[3];
    h.probe_id = get16(p + 4);
    h.spdcid = get16(p + 8);
    h.dpdcid = get16(p + 10);
    h.timestamp = Tseth::decode(p + 12);
    return h;
  }
};

static_assert(sizeof(Peth) == 12);

}  // namespace mrc::wire
