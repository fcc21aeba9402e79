// Encoding and decoding of one header by its field table (wire/fields.h). All properties of a field are compile-time
// constants: the result is loads, stores, shifts and masks, as if written by hand. Reserved fields are sent as 0 and
// not checked [MRC-WIRE-6].
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "base/ip.h"
#include "base/psn.h"
#include "base/strong_id.h"
#include "wire/bytes.h"
#include "wire/fields.h"

namespace mrc::wire {

// Values as bits, and the number of bits of a type.
template <typename T>
constexpr uint64_t to_bits(T v) {
  if constexpr (std::is_same_v<T, Psn> || kIsStrongId<T>)
    return v.value();
  else if constexpr (std::is_enum_v<T>)
    return static_cast<std::underlying_type_t<T>>(v);
  else if constexpr (std::is_same_v<T, bool>)
    return v ? 1 : 0;
  else
    return static_cast<std::make_unsigned_t<T>>(v);
}
template <typename T>
constexpr T from_bits(uint64_t bits) {
  if constexpr (std::is_same_v<T, Psn>)
    return Psn(static_cast<uint32_t>(bits));
  else if constexpr (kIsStrongId<T>)
    return T(static_cast<typename T::integer>(bits));
  else if constexpr (std::is_same_v<T, bool>)
    return bits != 0;
  else
    return static_cast<T>(bits);
}
template <typename T>
inline constexpr uint32_t kValueBits = std::is_same_v<T, Psn>    ? 24
                                       : std::is_same_v<T, bool> ? 1
                                                                 : 8 * sizeof(T);

// True for fields that are arrays of bytes or of 16-bit numbers; these fill whole words.
template <typename T>
inline constexpr bool kIsArray = false;
template <>
inline constexpr bool kIsArray<IpAddress> = true;
template <size_t N>
inline constexpr bool kIsArray<std::array<uint16_t, N>> = true;

inline void put_array(uint8_t* p, const IpAddress& a) {
  std::copy(a.bytes.begin(), a.bytes.end(), p);
}
template <size_t N>
void put_array(uint8_t* p, const std::array<uint16_t, N>& a) {
  for (size_t i = 0; i < N; ++i) put16(p + 2 * i, a[i]);
}
inline void get_array(const uint8_t* p, IpAddress* a) {
  std::copy(p, p + a->bytes.size(), a->bytes.begin());
}
template <size_t N>
void get_array(const uint8_t* p, std::array<uint16_t, N>* a) {
  for (size_t i = 0; i < N; ++i) (*a)[i] = get16(p + 2 * i);
}

template <typename Header, size_t I>
struct FieldAt {
  using type = std::remove_cvref_t<decltype(std::get<I>(Header::kFields))>;
  using path = typename type::path;
  using condition = typename type::condition;
  static constexpr FieldRow kRow = std::get<I>(Header::kFields).row;
  static constexpr uint32_t kFirst = kRow.first_bit();
  static constexpr uint32_t kEnd = kRow.end_bit();

  static constexpr auto value_type() {
    if constexpr (path::kEmpty)
      return std::type_identity<void>();
    else
      return std::type_identity<std::remove_cvref_t<decltype(path::of(std::declval<Header&>()))>>();
  }
  using value = typename decltype(value_type())::type;
  static constexpr bool kArray = kIsArray<value>;
};

template <typename Header>
inline constexpr size_t kFieldCount = std::tuple_size_v<std::remove_cvref_t<decltype(Header::kFields)>>;

template <uint32_t Width>
constexpr uint64_t low_bits(uint64_t v) {
  if constexpr (Width >= 64)
    return v;
  else
    return v & ((uint64_t{1} << Width) - 1);
}

// The contribution of field I to the bits [First, End) of its header, at most 32.
template <typename Header, size_t I, uint32_t First, uint32_t End>
[[gnu::always_inline]] inline uint32_t part(const Header& h) {
  using F = FieldAt<Header, I>;
  if constexpr (F::path::kEmpty || F::kArray || F::kEnd <= First || F::kFirst >= End) {
    return 0;
  } else {
    auto v = static_cast<uint32_t>(to_bits(F::path::of(h)));
    if constexpr (F::kRow.width < kValueBits<typename F::value>) v &= (1u << F::kRow.width) - 1;
    return F::condition::holds(h) ? v << (End - F::kEnd) : 0;
  }
}

// True if a carried field lies on both sides of bit `at`.
template <typename Header, uint32_t At, size_t... I>
consteval bool crossed(std::index_sequence<I...>) {
  return ((!FieldAt<Header, I>::path::kEmpty && FieldAt<Header, I>::kFirst < At && FieldAt<Header, I>::kEnd > At) ||
          ...);
}
// True if the bit `at` belongs to a field that is stored separately: a 64-bit number or an array.
template <typename Header, uint32_t At, size_t... I>
consteval bool stored_alone(std::index_sequence<I...>) {
  return ((!FieldAt<Header, I>::path::kEmpty && FieldAt<Header, I>::kRow.width >= 64 &&
           FieldAt<Header, I>::kFirst <= At && FieldAt<Header, I>::kEnd > At) ||
          ...);
}

// Stores the bits [First, First + Bits) in pieces as large as the fields need: two stores where no field crosses the
// middle, which is less work than joining the values in a register.
template <typename Header, uint32_t First, uint32_t Bits, size_t... I>
[[gnu::always_inline]] inline void put_bits(const Header& h, uint8_t* p, std::index_sequence<I...> fields) {
  if constexpr (Bits > 8 && !crossed<Header, First + Bits / 2>(fields)) {
    put_bits<Header, First, Bits / 2>(h, p, fields);
    put_bits<Header, First + Bits / 2, Bits / 2>(h, p, fields);
  } else {
    const uint32_t v = (part<Header, I, First, First + Bits>(h) | ...);
    uint8_t* const to = p + First / 8;
    if constexpr (Bits == 8)
      *to = static_cast<uint8_t>(v);
    else if constexpr (Bits == 16)
      put16(to, static_cast<uint16_t>(v));
    else
      put32(to, v);
  }
}
template <typename Header, uint32_t W, size_t... I>
[[gnu::always_inline]] inline void put_word(const Header& h, uint8_t* p, std::index_sequence<I...> fields) {
  if constexpr (!stored_alone<Header, 32 * W>(fields)) put_bits<Header, 32 * W, 32>(h, p, fields);
}

template <typename Header, size_t I>
[[gnu::always_inline]] inline void put_alone(const Header& h, uint8_t* p) {
  using F = FieldAt<Header, I>;
  if constexpr (F::kArray)
    put_array(p + F::kRow.byte, F::path::of(h));
  else if constexpr (!F::path::kEmpty && F::kRow.width == 64)
    put64(p + F::kRow.byte, to_bits(F::path::of(h)));
}

template <typename Header>
[[gnu::always_inline]] inline void encode_fields(const Header& h, std::span<uint8_t, Header::kSize> out) {
  constexpr auto kFields = std::make_index_sequence<kFieldCount<Header>>();
  uint8_t* const p = out.data();
  [&]<size_t... W>(std::index_sequence<W...>) {
    (put_word<Header, W>(h, p, kFields), ...);
  }
  (std::make_index_sequence<Header::kSize / 4>());
  [&]<size_t... I>(std::index_sequence<I...>) {
    (put_alone<Header, I>(h, p), ...);
  }
  (kFields);
}

// Bits [First, End) of a header, in the smallest load that holds them.
template <uint32_t First, uint32_t End>
[[gnu::always_inline]] inline uint64_t get_bits(const uint8_t* p) {
  constexpr uint32_t kByte = First / 8;
  constexpr uint32_t kBytes = (End - 1) / 8 - kByte + 1;
  static_assert(kBytes <= 4 || kBytes == 8);
  uint64_t v = 0;
  if constexpr (kBytes == 1)
    v = p[kByte];
  else if constexpr (kBytes == 2)
    v = get16(p + kByte);
  else if constexpr (kBytes == 3 && kByte % 4 == 1)  // the end of a word: cheaper than three bytes
    v = get32(p + kByte - 1);
  else if constexpr (kBytes == 3)
    v = get24(p + kByte);
  else if constexpr (kBytes == 4)
    v = get32(p + kByte);
  else
    v = get64(p + kByte);
  return low_bits<End - First>(v >> (8 * (kByte + kBytes) - End));
}

template <typename Header, size_t I>
[[gnu::always_inline]] inline void get_field(const uint8_t* p, Header* h) {
  using F = FieldAt<Header, I>;
  if constexpr (F::kArray) {
    get_array(p + F::kRow.byte, &F::path::of(*h));
  } else if constexpr (!F::path::kEmpty) {
    if (F::condition::holds(*h)) F::path::of(*h) = from_bits<typename F::value>(get_bits<F::kFirst, F::kEnd>(p));
  }
}

template <typename Header>
[[gnu::always_inline]] inline Header decode_fields(std::span<const uint8_t, Header::kSize> in) {
  Header h;
  [&]<size_t... I>(std::index_sequence<I...>) {
    (get_field<Header, I>(in.data(), &h), ...);
  }
  (std::make_index_sequence<kFieldCount<Header>>());
  return h;
}

// The header that begins at byte `at`; the caller has compared lengths.
template <typename Header>
inline Header header_at(std::span<const uint8_t> bytes, size_t at) {
  return Header::decode(bytes.subspan(at).template first<Header::kSize>());
}

}  // namespace mrc::wire
