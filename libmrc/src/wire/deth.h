// DETH, 8 bytes: key and source of a datagram, behind BTH in a UD SEND [MRC-UD-1, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "wire/codec.h"

namespace mrc::wire {

struct Deth {
  uint32_t qkey = 0;
  Qpn src_qpn;

  static constexpr auto kFields = std::tuple{
      field<&Deth::qkey>("qkey", 0, 7, 32, "Q_Key").hex(),
      reserved(4, 7, 8),
      field<&Deth::src_qpn>("src_qpn", 5, 7, 24, "Source QPN").hex(),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"DETH", "Datagram Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Deth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Deth>(in); }
};

static_assert(sizeof(Deth) == Deth::kSize && Deth::kSize == 8);

}  // namespace mrc::wire
