// SETH, 28 bytes: selective acknowledgement; CC_STATE follows it [MRC-SACK-1..8, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/psn.h"
#include "wire/bytes.h"

namespace mrc::wire {

// Verdict of the responder on the path of the packet that triggered the SACK [MRC-SACK-4].
enum class PathVerdict : uint8_t { kNone = 0, kSkipOnce = 1, kAlwaysSkip = 2, kReserved = 3 };

// cc_type of a SETH that an NSCC CC_STATE follows [MRC-SACK-7].
constexpr uint8_t kCcTypeNscc = 0;
constexpr uint32_t kSackBitmapBits = 64;

struct Seth {
  static constexpr uint32_t kSize = 28;

  PathVerdict m = PathVerdict::kNone;
  bool pr = false;             // answers a reliability probe
  int16_t ack_psn_offset = 0;  // pr = 0: triggering PSN = cack_psn + offset
  uint16_t probe_id = 0;       // pr = 1: same two bytes
  uint32_t entropy = 0;        // EV of the triggering packet
  uint16_t spdcid = 0;         // low half of the sender's QPN
  uint16_t dpdcid = 0;         // low half of the receiver's QPN
  Psn cack_psn;
  uint8_t cc_type = kCcTypeNscc;
  uint8_t cc_fl = 0;
  uint8_t mpr = 0;           // units of 128 PSN; 0 without Dynamic MPR
  int16_t sack_offset = 0;   // base of the bitmap = cack_psn + offset
  uint64_t sack_bitmap = 0;  // bit i (bit 0 least significant): base + i has arrived

  Psn ack_psn() const { return cack_psn + ack_psn_offset; }

  void encode(uint8_t* p) const {
    p[0] = 0;
    p[1] = static_cast<uint8_t>((static_cast<uint8_t>(m) & 3) << 5 | (pr ? 2 : 0));
    put16(p + 2, pr ? probe_id : static_cast<uint16_t>(ack_psn_offset));
    put32(p + 4, entropy);
    put16(p + 8, spdcid);
    put16(p + 10, dpdcid);
    put32(p + 12, cack_psn.value());
    p[16] = static_cast<uint8_t>((cc_type & 0xF) << 4 | (cc_fl & 0xF));
    p[17] = mpr;
    put16(p + 18, static_cast<uint16_t>(sack_offset));
    put64(p + 20, sack_bitmap);
  }
  static Seth decode(const uint8_t* p) {
    Seth h;
    h.m = static_cast<PathVerdict>(p[1] >> 5 & 3);
    h.pr = (p[1] & 2) != 0;
    if (h.pr) {
      h.probe_id = get16(p + 2);
    } else {
      h.ack_psn_offset = static_cast<int16_t>(get16(p + 2));
    }
    h.entropy = get32(p + 4);
    h.spdcid = get16(p + 8);
    h.dpdcid = get16(p + 10);
    h.cack_psn = Psn(get24(p + 13));
    h.cc_type = static_cast<uint8_t>(p[16] >> 4);
    h.cc_fl = static_cast<uint8_t>(p[16] & 0xF);
    h.mpr = p[17];
    h.sack_offset = static_cast<int16_t>(get16(p + 18));
    h.sack_bitmap = get64(p + 20);
    return h;
  }
};

static_assert(sizeof(Seth) <= 40);

}  // namespace mrc::wire
