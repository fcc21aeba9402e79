// SETH, 28 bytes: selective acknowledgement; CC_STATE follows it [MRC-SACK-1..11, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"

namespace mrc::wire {

// Verdict of the responder on the path of the packet that triggered the SACK [MRC-SACK-4].
enum class PathVerdict : uint8_t { kNone = 0, kSkipOnce = 1, kAlwaysSkip = 2, kReserved = 3 };

inline constexpr ValueName kVerdictList[] = {
    name_value(PathVerdict::kNone, "none"), name_value(PathVerdict::kSkipOnce, "skip_once"),
    name_value(PathVerdict::kAlwaysSkip, "always_skip"), name_value(PathVerdict::kReserved, "reserved")};
inline constexpr ValueNames kVerdictNames{"VERDICTS", kVerdictList, "reserved"};

// cc_type of a SETH that an NSCC CC_STATE follows [MRC-SACK-7].
constexpr uint8_t kCcTypeNscc = 0;
constexpr uint32_t kSackBitmapBits = 64;

struct Seth {
  PathVerdict m = PathVerdict::kNone;
  bool pr = false;             // answers a reliability probe
  int16_t ack_psn_offset = 0;  // pr = 0: triggering PSN = cack_psn + offset
  uint16_t probe_id = 0;       // pr = 1: same two bytes
  uint32_t entropy = 0;        // EV of the triggering packet
  uint16_t spdcid = 0;         // low half of the sender's QPN
  uint16_t dpdcid = 0;         // low half of the receiver's QPN
  Psn cack_psn;
  uint8_t cc_type = kCcTypeNscc;
  uint8_t cc_fl = 0;         // [MRC-CHOICE-Q30]
  uint8_t mpr = 0;           // units of 128 PSN; 0 without Dynamic MPR
  int16_t sack_offset = 0;   // base of the bitmap = cack_psn + offset
  uint64_t sack_bitmap = 0;  // bit i (bit 0 least significant): base + i has arrived

  Psn ack_psn() const { return cack_psn + ack_psn_offset; }

  static constexpr auto kFields = std::tuple{
      unused("type", 0, 7, 4, "Type"),
      unused("nxt", 0, 3, 5, "Next header"),
      field<&Seth::m>("m", 1, 6, 2, "Path verdict").named(&kVerdictNames),
      reserved(1, 4, 3),
      field<&Seth::pr>("pr", 1, 1, 1, "Answers a probe"),
      reserved(1, 0, 1),
      field<&Seth::ack_psn_offset>("ack_psn_offset", 2, 7, 16, "PSN that caused it, from cack_psn")
          .when<&Seth::pr, false>("pr"),
      field<&Seth::probe_id>("probe_id", 2, 7, 16, "Probe id").when<&Seth::pr, true>("pr"),
      field<&Seth::entropy>("entropy", 4, 7, 32, "EV of the packet that caused it").hex().text("ev"),
      field<&Seth::spdcid>("spdcid", 8, 7, 16, "Source PDC id").hex(),
      field<&Seth::dpdcid>("dpdcid", 10, 7, 16, "Destination PDC id").hex(),
      reserved(12, 7, 8),
      field<&Seth::cack_psn>("cack_psn", 13, 7, 24, "Cumulative PSN").text("cack"),
      field<&Seth::cc_type>("cc_type", 16, 7, 4, "CC type"),
      field<&Seth::cc_fl>("cc_fl", 16, 3, 4, "CC flags"),
      field<&Seth::mpr>("mpr", 17, 7, 8, "Window, units of 128 PSNs"),
      field<&Seth::sack_offset>("sack_offset", 18, 7, 16, "Base of the bitmap, from cack_psn"),
      field<&Seth::sack_bitmap>("sack_bitmap", 20, 7, 64, "Arrived").hex().text("bitmap"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"SETH", "Selective Acknowledge Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Seth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Seth>(in); }
};

static_assert(sizeof(Seth) <= 40 && Seth::kSize == 28);

}  // namespace mrc::wire
