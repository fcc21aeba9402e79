#include "ctl/ev_expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>

namespace mrc::ctl {
namespace {

using testing::ElementsAre;

mrc_ctl_ev ev(std::initializer_list<uint8_t> bytes, uint8_t port = 1) {
  mrc_ctl_ev out{};
  std::copy(bytes.begin(), bytes.end(), out.val);
  out.port = port;
  return out;
}

std::vector<mrc_ctl_ev_fmt_field> format(std::initializer_list<uint8_t> widths) {
  std::vector<mrc_ctl_ev_fmt_field> out;
  for (uint8_t width : widths) out.push_back({width});
  return out;
}

constexpr mrc_ctl_ev_field kAll16{16, 0, 0, 0, 0xFFFF};

// [MRC-EVX-2]
TEST(EvFormat, at_most_the_bits_of_its_mode) {
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_UDP, format({16})), 0);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_UDP, format({16, 1})), E2BIG);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_STEV, format({10, 8, 4})), 0);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_STEV, format({16, 16})), 0);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_STEV, format({16, 17})), E2BIG);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_SRV6, format({32, 16, 16, 16, 16})), 0);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_SRV6, format({32, 16, 16, 16, 16, 16, 16, 32, 16, 16, 16, 16})), 0);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_SRV6, format({128, 128})), 0);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_SRV6, format({128, 128, 1})), E2BIG);
}

TEST(EvFormat, refuses_empty_fields_and_unknown_modes) {
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_STEV, {}), EINVAL);
  EXPECT_EQ(check_format(MRC_CTL_EV_FMT_MODE_STEV, format({16, 0})), EINVAL);
  EXPECT_EQ(check_format(3, format({16})), EINVAL);
  EXPECT_EQ(check_format(0, format({16})), EINVAL);
}

// [MRC-EVX-3]
TEST(EvFields, width_from_1_to_32) {
  EXPECT_EQ(check_fields({}), EINVAL);
  EXPECT_EQ(check_fields({{0, 0, 0, 0, 0}}), EINVAL);
  EXPECT_EQ(check_fields({{1, 1, 0, 1, 1}}), 0);
  EXPECT_EQ(check_fields({{32, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0xFFFFFFFF}}), 0);
  EXPECT_EQ(check_fields({{33, 0, 0, 0, 0}}), EINVAL);
  EXPECT_EQ(check_fields({{UINT32_MAX, 0, 0, 0, 0}}), EINVAL);
}

TEST(EvFields, values_within_the_field) {
  EXPECT_EQ(check_fields({{4, 15, 0, 0, 0}}), 0);
  EXPECT_EQ(check_fields({{4, 16, 0, 0, 0}}), EINVAL);
  EXPECT_EQ(check_fields({{4, 0, 0, 0, 8}}), 0);
  EXPECT_EQ(check_fields({{4, 0, 0, 0, 16}}), EINVAL);
}

TEST(EvFields, range_within_the_bits_of_the_mask) {
  EXPECT_EQ(check_fields({{16, 0, 3, 7, 0x111}}), 0);
  EXPECT_EQ(check_fields({{16, 0, 3, 8, 0x111}}), EINVAL);
  EXPECT_EQ(check_fields({{16, 0, 4, 3, 0x111}}), EINVAL);
  EXPECT_EQ(check_fields({{16, 5, 0, 1, 0}}), EINVAL);  // a fixed field has no range
}

TEST(EvFields, must_fit_their_place_in_the_format) {
  const auto two = format({16, 8});
  const mrc_ctl_ev_field wide{16, 0, 0, 0, 0}, narrow{8, 0, 0, 0, 0};
  EXPECT_EQ(check_fit({wide, narrow}, two), 0);
  EXPECT_EQ(check_fit({narrow, narrow}, two), 0);
  EXPECT_EQ(check_fit({wide}, two), 0);
  EXPECT_EQ(check_fit({narrow, wide}, two), E2BIG);
  EXPECT_EQ(check_fit({narrow, narrow, narrow}, two), E2BIG);
}

// [MRC-EVX-1]
TEST(EvExpand, mask_bits_take_ev_bits_from_the_most_significant_on) {
  const mrc_ctl_ev_field field{16, 0xA5A5, 0, 0, 0x8003};
  EXPECT_THAT(field_values(ev({0xE0}).val, {field}), ElementsAre(0xA5A7u));
  EXPECT_THAT(field_values(ev({0x00}).val, {field}), ElementsAre(0x25A4u));
  EXPECT_THAT(field_values(ev({0x80}).val, {field}), ElementsAre(0xA5A4u));
}

TEST(EvExpand, full_width_field_and_bit_31) {
  const mrc_ctl_ev_field all{32, 0, 0, 0, 0xFFFFFFFF}, top{32, 1, 0, 0, 0x80000000};
  EXPECT_THAT(field_values(ev({0xDE, 0xAD, 0xBE, 0xEF}).val, {all}), ElementsAre(0xDEADBEEFu));
  EXPECT_THAT(field_values(ev({0x80}).val, {top}), ElementsAre(0x80000001u));
}

TEST(EvExpand, narrow_field_stands_at_the_right_of_its_place) {
  mrc_ctl_ev_t packet;
  const mrc_ctl_ev_field four{4, 0, 0, 0, 0xF};
  expand(ev({0x9C}).val, {four, four}, format({10, 8, 4}), &packet);
  // 0000001001 00001100 then zeroes
  EXPECT_EQ(std::vector<uint8_t>(packet, packet + 4), (std::vector<uint8_t>{0x02, 0x43, 0x00, 0x00}));
}

TEST(EvExpand, second_half_is_the_segment) {
  mrc_ctl_ev_t packet;
  const mrc_ctl_ev_field block{32, 0xFCBB0001, 0, 0, 0};
  std::vector<mrc_ctl_ev_field> fields{block};
  for (int i = 0; i < 6; ++i) fields.push_back(kAll16);
  fields.push_back(block);
  fields.push_back(kAll16);
  expand(ev({1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}).val, fields, format({32, 16, 16, 16, 16, 16, 16, 32, 16}),
         &packet);
  EXPECT_EQ(std::vector<uint8_t>(packet, packet + 32),
            (std::vector<uint8_t>{0xFC, 0xBB, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6,
                                  0xFC, 0xBB, 0, 1, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// [MRC-EVX-4]
TEST(EvExpand, bits_beyond_those_consumed_are_zero) {
  const mrc_ctl_ev_field nine{16, 0, 0, 0, 0x1FF};
  EXPECT_EQ(consumed_bits({nine}), 9u);
  EXPECT_TRUE(unused_bits_zero(ev({0xFF, 0x80}).val, {nine}));
  EXPECT_FALSE(unused_bits_zero(ev({0xFF, 0xC0}).val, {nine}));
  mrc_ctl_ev last{};
  last.val[31] = 1;
  EXPECT_FALSE(unused_bits_zero(last.val, {nine}));
  EXPECT_TRUE(unused_bits_zero(last.val, std::vector<mrc_ctl_ev_field>(8, {32, 0, 0, 0, 0xFFFFFFFF})));
}

// [MRC-EVX-5]
TEST(EvGenerate, every_combination_once_then_no_more) {
  const std::vector<mrc_ctl_ev_field> fields{{16, 0x100, 1, 15, 0xF}, {16, 0x200, 1, 15, 0xF}};
  EXPECT_EQ(combinations(fields), 225u);
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const mrc_ctl_ev& e : generate(fields, 225, 4)) {
    const std::vector<uint32_t> values = field_values(e.val, fields);
    EXPECT_TRUE(unused_bits_zero(e.val, fields));
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_GE(values[i], fields[i].init_val + 1);
      EXPECT_LE(values[i], fields[i].init_val + 15);
    }
    seen.insert({values[0], values[1]});
  }
  EXPECT_EQ(seen.size(), 225u);
}

TEST(EvGenerate, a_few_evs_vary_every_field) {
  const std::vector<mrc_ctl_ev_field> fields{{16, 0, 0, 0, 0xFF}, {16, 0, 0, 0, 0xFF}};
  std::set<uint32_t> first, second;
  for (const mrc_ctl_ev& e : generate(fields, 16, 1)) {
    const std::vector<uint32_t> values = field_values(e.val, fields);
    first.insert(values[0]);
    second.insert(values[1]);
  }
  EXPECT_GE(first.size(), 12u);
  EXPECT_GE(second.size(), 12u);
}

TEST(EvGenerate, ports_in_turn) {
  const std::vector<mrc_ctl_ev> evs = generate({kAll16}, 5, 2);
  for (size_t i = 0; i < evs.size(); ++i) EXPECT_EQ(evs[i].port, 1 + i % 2);
}

TEST(EvGenerate, ranges_of_any_size) {
  EXPECT_EQ(combinations({{8, 7, 0, 0, 0}}), 1u);
  EXPECT_EQ(generate({{8, 7, 0, 0, 0}}, 1, 1).size(), 1u);
  EXPECT_EQ(combinations({{32, 0, 0, 0, 0xFFFFFFFF}}), uint64_t{1} << 32);
  const std::vector<mrc_ctl_ev_field> wide(4, {32, 0, 0, 0, 0xFFFFFFFF});
  EXPECT_EQ(combinations(wide), UINT64_MAX);
  std::set<std::string> seen;
  for (const mrc_ctl_ev& e : generate(wide, 1000, 1)) seen.emplace(reinterpret_cast<const char*>(e.val), 32);
  EXPECT_EQ(seen.size(), 1000u);
}

}  // namespace
}  // namespace mrc::ctl
