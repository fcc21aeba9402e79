#include "ctl/ev_expand.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>

namespace mrc::ctl {

namespace {

constexpr uint32_t kMaxFieldBits = 32;

bool get_bit(const mrc_ctl_ev_t& value, uint32_t position) {  // 0 is the most significant
  return (value[position / 8] >> (7 - position % 8)) & 1;
}

void set_bit(mrc_ctl_ev_t* value, uint32_t position) {
  (*value)[position / 8] = static_cast<uint8_t>((*value)[position / 8] | 0x80u >> position % 8);
}

bool fits(uint32_t value, uint32_t bits) {
  return bits >= kMaxFieldBits || value >> bits == 0;
}

uint32_t mask_bits(const mrc_ctl_ev_field& field) {
  return static_cast<uint32_t>(std::popcount(field.mask));
}

// Values that the generator may give to the field's variable bits.
struct Range {
  uint32_t min;
  uint64_t count;
};

Range range_of(const mrc_ctl_ev_field& field) {
  if (field.min_val == 0 && field.max_val == 0) return {0, uint64_t{1} << mask_bits(field)};
  return {field.min_val, uint64_t{field.max_val} - field.min_val + 1};
}

uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace

uint32_t format_bits(int mode) {
  switch (mode) {
    case MRC_CTL_EV_FMT_MODE_UDP:
      return 16;
    case MRC_CTL_EV_FMT_MODE_STEV:
      return 32;
    case MRC_CTL_EV_FMT_MODE_SRV6:
      return kEvBits;
    default:
      return 0;
  }
}

int check_format(int mode, FormatFields format) {
  if (format.empty() || format_bits(mode) == 0) return EINVAL;
  uint32_t total = 0;
  for (const mrc_ctl_ev_fmt_field& field : format) {
    if (field.width == 0) return EINVAL;
    total += field.width;
    if (total > format_bits(mode)) return E2BIG;
  }
  return 0;
}

int check_fields(EvFields fields) {
  uint32_t total = 0;
  for (const mrc_ctl_ev_field& field : fields) {
    if (field.width == 0 || field.width > kMaxFieldBits) return EINVAL;
    total += field.width;
    if (total > kEvBits) return E2BIG;
    if (!fits(field.init_val, field.width) || !fits(field.mask, field.width)) return EINVAL;
    if (field.min_val > field.max_val || !fits(field.max_val, mask_bits(field))) return EINVAL;
  }
  return fields.empty() ? EINVAL : 0;
}

int check_fit(EvFields fields, FormatFields format) {
  if (fields.size() > format.size()) return E2BIG;
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].width > format[i].width) return E2BIG;
  return 0;
}

uint32_t consumed_bits(EvFields fields) {
  uint32_t bits = 0;
  for (const mrc_ctl_ev_field& field : fields) bits += mask_bits(field);
  return bits;
}

bool unused_bits_zero(const mrc_ctl_ev_t& value, EvFields fields) {
  for (uint32_t i = consumed_bits(fields); i < kEvBits; ++i)
    if (get_bit(value, i)) return false;
  return true;
}

// [MRC-EVX-1]
std::vector<uint32_t> field_values(const mrc_ctl_ev_t& value, EvFields fields) {
  std::vector<uint32_t> values;
  values.reserve(fields.size());
  uint32_t next = 0;  // most significant bit of the EV not consumed yet
  for (const mrc_ctl_ev_field& field : fields) {
    uint32_t v = field.init_val;
    for (uint32_t bit = kMaxFieldBits; bit-- > 0;) {
      if ((field.mask >> bit & 1) == 0) continue;
      const uint32_t place = uint32_t{1} << bit;
      v = get_bit(value, next++) ? v | place : v & ~place;
    }
    values.push_back(v);
  }
  return values;
}

void expand(const mrc_ctl_ev_t& value, EvFields fields, FormatFields format, mrc_ctl_ev_t* packet) {
  mrc_ctl_ev_t out{};
  const std::vector<uint32_t> values = field_values(value, fields);
  uint32_t end = 0;  // of the format's field, in bits from the front
  for (size_t i = 0; i < values.size(); ++i) {
    end += format[i].width;
    for (uint32_t bit = 0; bit < fields[i].width; ++bit)
      if (values[i] >> bit & 1) set_bit(&out, end - 1 - bit);
  }
  std::memcpy(packet, &out, sizeof out);
}

uint64_t combinations(EvFields fields) {
  uint64_t product = 1;
  for (const mrc_ctl_ev_field& field : fields) product = saturating_product(product, range_of(field).count);
  return product;
}

// The EVs are numbered with the last field running fastest, and every stride-th is used. A stride near the golden
// section of the whole spreads any count over all fields (counting up would vary only the last one), and having no
// factor in common with the whole it repeats no EV before all have been used.
std::vector<mrc_ctl_ev> generate(EvFields fields, uint32_t count, uint8_t ports) {
  const uint64_t all = combinations(fields);
  uint64_t stride = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(all >> 1) * 1.2360679775));
  while (std::gcd(stride, all) != 1) ++stride;
  std::vector<mrc_ctl_ev> evs(count, mrc_ctl_ev{});
  std::vector<uint32_t> digits(fields.size());
  for (uint32_t n = 0; n < count; ++n) {
    uint64_t number = static_cast<uint64_t>(static_cast<unsigned __int128>(n) * stride % all);
    for (size_t i = fields.size(); i-- > 0;) {
      const Range range = range_of(fields[i]);
      digits[i] = static_cast<uint32_t>(range.min + number % range.count);
      number /= range.count;
    }
    uint32_t next = 0;
    for (size_t i = 0; i < fields.size(); ++i)
      for (uint32_t bit = mask_bits(fields[i]); bit-- > 0; ++next)
        if (digits[i] >> bit & 1) set_bit(&evs[n].val, next);
    evs[n].port = static_cast<uint8_t>(1 + n % ports);
  }
  return evs;
}

}  // namespace mrc::ctl
