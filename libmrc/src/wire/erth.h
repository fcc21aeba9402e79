// ERTH, 16 bytes: endpoint request: EV probe or port status update [MRC-EVP-1, MRC-PORT-1, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"
#include "wire/tseth.h"

namespace mrc::wire {

// Two bits, in ERTH and EETH [MRC-EVP-2].
enum class EndpointOp : uint8_t { kPortStatus = 0, kEvProbe = 1 };

inline constexpr ValueName kEndpointOpList[] = {name_value(EndpointOp::kPortStatus, "port_status"),
                                                name_value(EndpointOp::kEvProbe, "ev_probe")};
inline constexpr ValueNames kEndpointOpNames{"ENDPOINT_OPS", kEndpointOpList, "reserved"};

struct Erth {
  EndpointOp op = EndpointOp::kEvProbe;
  uint8_t vendor_info = 0;
  uint32_t port_status_mask = 0;  // kPortStatus: bit (port - 1) set = that port of the sender is reachable
  Tseth timestamp;                // last four bytes, laid out as a TSETH

  static constexpr auto kFields = std::tuple_cat(
      std::tuple{
          unused("type", 0, 7, 4, "Type"),
          unused("nxt", 0, 3, 5, "Next header"),
          reserved(1, 6, 5),
          field<&Erth::op>("op", 1, 1, 2, "Operation").named(&kEndpointOpNames),
          reserved(2, 7, 8),
          field<&Erth::vendor_info>("vendor_info", 3, 7, 8, "Vendor information (process slot)").hex().text("vendor"),
          field<&Erth::port_status_mask>("port_status_mask", 4, 7, 32, "Ports up").hex(),
          reserved(8, 7, 32),
      },
      embedded<&Erth::timestamp>(12, Tseth::kFields));
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"ERTH", "Endpoint Request Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Erth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Erth>(in); }
};

static_assert(sizeof(Erth) == 12 && Erth::kSize == 16);

}  // namespace mrc::wire
