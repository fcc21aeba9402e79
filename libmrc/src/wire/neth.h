// NETH, 20 bytes: reliability NACK [MRC-NACK-1..4, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"

namespace mrc::wire {

// [MRC-NACK-2]
enum class NackReason : uint8_t {
  kTrimmed = 0x01,
  kTrimmedLastHop = 0x02,
  kNoBitmap = 0x06,
  kNoPktBuffer = 0x07,
  kNoResource = 0x0A,
  kPsnOorWindow = 0x0B,
  kUnexpEvent = 0x19,
};

inline constexpr ValueName kNackReasonList[] = {
    name_value(NackReason::kTrimmed, "TRIMMED"),        name_value(NackReason::kTrimmedLastHop, "TRIMMED_LASTHOP"),
    name_value(NackReason::kNoBitmap, "NO_BITMAP"),     name_value(NackReason::kNoPktBuffer, "NO_PKT_BUFFER"),
    name_value(NackReason::kNoResource, "NO_RESOURCE"), name_value(NackReason::kPsnOorWindow, "PSN_OOR_WINDOW"),
    name_value(NackReason::kUnexpEvent, "UNEXP_EVENT")};
inline constexpr ValueNames kNackReasonNames{"REASONS", kNackReasonList, "UNKNOWN"};

constexpr const char* nack_reason_name(NackReason reason) {
  return kNackReasonNames.name_of(static_cast<uint64_t>(reason));
}

// cc_type of a NETH, which no CC_STATE follows [MRC-NACK-3].
constexpr uint8_t kCcTypeNack = 2;

struct Neth {
  NackReason reason = NackReason::kTrimmed;
  uint8_t vendor_info = 0;
  uint32_t entropy = 0;  // EV of the rejected packet
  uint16_t spdcid = 0;   // low half of the sender's QPN
  uint16_t dpdcid = 0;
  Psn nack_psn;
  uint8_t cc_type = kCcTypeNack;
  uint8_t cc_fl = 0;          // [MRC-CHOICE-Q30]
  uint16_t tx_timestamp = 0;  // reflected

  static constexpr auto kFields = std::tuple{
      unused("type", 0, 7, 4, "Type"),
      unused("nxt", 0, 3, 5, "Next header"),
      reserved(1, 6, 7),
      field<&Neth::reason>("reason", 2, 7, 8, "Reason").named(&kNackReasonNames, Show::kNameAndHex),
      field<&Neth::vendor_info>("vendor_info", 3, 7, 8, "Vendor information").hex().text("vendor"),
      field<&Neth::entropy>("entropy", 4, 7, 32, "EV of the rejected packet").hex().text("ev"),
      field<&Neth::spdcid>("spdcid", 8, 7, 16, "Source PDC id").hex(),
      field<&Neth::dpdcid>("dpdcid", 10, 7, 16, "Destination PDC id").hex(),
      reserved(12, 7, 8),
      field<&Neth::nack_psn>("nack_psn", 13, 7, 24, "Rejected PSN"),
      field<&Neth::cc_type>("cc_type", 16, 7, 4, "CC type"),
      field<&Neth::cc_fl>("cc_fl", 16, 3, 4, "CC flags"),
      reserved(17, 7, 8),
      field<&Neth::tx_timestamp>("tx_timestamp", 18, 7, 16, "Reflected timestamp"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"NETH", "Negative Acknowledge Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Neth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Neth>(in); }
};

static_assert(sizeof(Neth) <= 24 && Neth::kSize == 20);

}  // namespace mrc::wire
