// Expansion of entropy values (EVs): from the few bits that a profile varies to the bits that a packet carries.
//
// A format profile gives the widths of the fields in the packet, most significant first. An EV profile gives one
// description per field, in the same order. Each field starts as init_val; for each bit of its mask, from high to low,
// the next most significant bit of the EV replaces the bit at that place. The field is placed right-justified in the
// format's field, and the format's fields are laid one after the other from the most significant bit on. [MRC-EVX-1]
//
// Pure functions of their arguments, any thread. Errors are errno values, 0 is success. [MRC-EVX-*, spec/controller.md]
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "ctl/vocabulary.h"

namespace mrc::ctl {

using FormatFields = absl::Span<const mrc_ctl_ev_fmt_field>;
using EvFields = absl::Span<const mrc_ctl_ev_field>;

inline constexpr uint32_t kEvBits = 8 * MRC_CTL_EV_MAX_BYTES;

// Bits that a packet has for an EV of this mode: 16, 32 or 256; 0 for an unknown mode. `mode` may be any number.
uint32_t format_bits(int mode);

// EINVAL: no fields, or one of no width; E2BIG: more bits than the mode has. [MRC-EVX-2]
[[nodiscard]] int check_format(int mode, FormatFields format);
// Each description by itself. EINVAL: a width of 0 or above 32; init_val or mask wider than the field; a range that is
// empty, or wider than the mask has bits. [MRC-EVX-3]
[[nodiscard]] int check_fields(EvFields fields);
// E2BIG: more fields than the format has, or one wider than its place in it. [MRC-EVX-2]
[[nodiscard]] int check_fit(EvFields fields, FormatFields format);

// Bits of an EV that the fields consume.
uint32_t consumed_bits(EvFields fields);
// False when a bit beyond those is set. [MRC-EVX-4]
bool unused_bits_zero(const mrc_ctl_ev_t& value, EvFields fields);

// Value of every field for one EV.
std::vector<uint32_t> field_values(const mrc_ctl_ev_t& value, EvFields fields);
// The bits in the packet. `fields` fit `format`.
void expand(const mrc_ctl_ev_t& value, EvFields fields, FormatFields format, mrc_ctl_ev_t* packet);

// Number of different EVs that the ranges allow; UINT64_MAX when they are more.
uint64_t combinations(EvFields fields);
// `count` different EVs spread over the ranges, ports 1..ports in turn; `count` is at most combinations(). The same
// call gives the same EVs. [MRC-EVX-5]
std::vector<mrc_ctl_ev> generate(EvFields fields, uint32_t count, uint8_t ports);

}  // namespace mrc::ctl
