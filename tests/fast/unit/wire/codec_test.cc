// The codec made from the field tables: which bits it carries, and where a field of each shape lies.
#include "wire/codec.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/layout.h"

namespace mrc::wire {
namespace {

// Each bit of each header alone: bits of carried fields come back, all others are 0 [MRC-WIRE-6].
template <typename Header>
void check_every_bit() {
  for (uint32_t bit = 0; bit < 8 * Header::kSize; ++bit) {
    SCOPED_TRACE(std::string(Header::kInfo.name) + " bit " + std::to_string(bit));
    std::vector<uint8_t> bytes(Header::kSize), encoded(Header::kSize, 0xA5);
    bytes[bit / 8] = static_cast<uint8_t>(0x80 >> bit % 8);
    header_at<Header>(bytes, 0).encode(std::span(encoded).template first<Header::kSize>());
    bool carried = false;
    for_each_row<Header>([&](const FieldRow& r) {
      carried = carried || (r.kind == FieldKind::kCarried && bit >= r.first_bit() && bit < r.end_bit());
    });
    if (!carried) bytes[bit / 8] = 0;
    EXPECT_EQ(encoded, bytes);
  }
}

TEST(Codec, carried_bits_come_back_and_no_others) {
  for_each_header([]<typename Header>() { check_every_bit<Header>(); });
}

// A header of odd shapes: a field across a byte's end, a number at no multiple of its size, alternatives.
struct Odd {
  uint8_t across = 0;
  bool flag = false;
  uint32_t three = 0;
  int16_t number = 0;
  uint16_t other = 0;
  uint64_t wide = 0;
  static constexpr auto kFields = std::tuple{
      reserved(0, 7, 6),
      field<&Odd::across>("across", 0, 1, 5, "Across two bytes"),
      field<&Odd::flag>("flag", 1, 4, 1, "Chooses"),
      reserved(1, 3, 4),
      field<&Odd::number>("number", 2, 7, 16, "One reading").when<&Odd::flag, false>("flag"),
      field<&Odd::other>("other", 2, 7, 16, "The other").when<&Odd::flag, true>("flag"),
      field<&Odd::three>("three", 4, 7, 24, "At the beginning of a word"),
      reserved(7, 7, 8),
      field<&Odd::wide>("wide", 8, 7, 64, "Wide"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Odd decode(std::span<const uint8_t, kSize> in) { return decode_fields<Odd>(in); }
};
static_assert(Odd::kSize == 16);

TEST(Codec, fields_of_any_shape) {
  Odd h;
  h.across = 0x35;  // five bits: 0x15
  h.three = 0xAB123456;
  h.number = -2;
  h.other = 0x5555;
  h.wide = 0x0102030405060708;
  uint8_t bytes[Odd::kSize];
  h.encode(bytes);
  EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 16),
            (std::vector<uint8_t>{0x02, 0xA0, 0xFF, 0xFE, 0x12, 0x34, 0x56, 0, 1, 2, 3, 4, 5, 6, 7, 8}));
  Odd back = Odd::decode(bytes);
  EXPECT_EQ(back.across, 0x15);
  EXPECT_EQ(back.three, 0x123456u);
  EXPECT_EQ(back.number, -2);
  EXPECT_EQ(back.other, 0);
  EXPECT_EQ(back.wide, h.wide);
  h.flag = true;
  h.encode(bytes);
  back = Odd::decode(bytes);
  EXPECT_EQ(back.number, 0);
  EXPECT_EQ(back.other, 0x5555);
}

TEST(Codec, rows_are_found_by_name) {
  EXPECT_EQ(row_of<Bth>("psn").byte, 9);
  EXPECT_EQ(row_of<Bth>("psn").width, 24);
  EXPECT_EQ(flag_mask<Bth>("ack_req"), 0x80);
  EXPECT_EQ(flag_mask<Bth>("ts"), 0x10);
}

}  // namespace
}  // namespace mrc::wire
