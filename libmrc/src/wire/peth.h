// PETH, 16 bytes: reliability probe request [MRC-PROBE-1..3, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"
#include "wire/tseth.h"

namespace mrc::wire {

struct Peth {
  uint8_t vendor_info = 0;
  uint16_t probe_id = 0;  // the requester's own; comes back in SETH
  uint16_t spdcid = 0;
  uint16_t dpdcid = 0;
  Tseth timestamp;  // last four bytes, laid out as a TSETH

  static constexpr auto kFields = std::tuple_cat(
      std::tuple{
          unused("type", 0, 7, 4, "Type"),
          unused("nh", 0, 3, 5, "Next header"),
          reserved(1, 6, 7),
          reserved(2, 7, 8),
          field<&Peth::vendor_info>("vendor_info", 3, 7, 8, "Vendor information").hex().text("vendor"),
          field<&Peth::probe_id>("probe_id", 4, 7, 16, "Probe id"),
          reserved(6, 7, 16),
          field<&Peth::spdcid>("spdcid", 8, 7, 16, "Source PDC id").hex(),
          field<&Peth::dpdcid>("dpdcid", 10, 7, 16, "Destination PDC id").hex(),
      },
      embedded<&Peth::timestamp>(12, Tseth::kFields));
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"PETH", "Probe Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Peth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Peth>(in); }
};

static_assert(sizeof(Peth) == 12 && Peth::kSize == 16);

}  // namespace mrc::wire
