// The field tables of the headers. Each header declares its fields once, in the order of their bits:
//   static constexpr auto kFields = std::tuple{field<&Aeth::syndrome>("syndrome", 0, 7, 8, "Kind and code").hex(),
//   ...};
// Everything else about the layout follows from the table: encoding and decoding (wire/codec.h), kSize, the text of
// traces (wire/text.cc), the dissector's tables and the byte maps of spec/wire.md (tools/dev/wire-tables). A table that
// has a gap or an overlap does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>

namespace mrc::wire {

// One named value of a field, or a range of values with one name.
struct ValueName {
  uint64_t first;
  uint64_t last;
  const char* name;
};
template <typename Enum>
constexpr ValueName name_value(Enum value, const char* name) {
  return {static_cast<uint64_t>(value), static_cast<uint64_t>(value), name};
}
struct ValueNames {
  const char* id;  // of the list, in the dissector
  std::span<const ValueName> list;
  const char* otherwise;  // in texts, for values that are not in the list

  constexpr const char* name_of(uint64_t value) const {
    for (const ValueName& v : list)
      if (value >= v.first && value <= v.last) return v.name;
    return otherwise;
  }
};

enum class FieldKind : uint8_t {
  kCarried,   // a member of the header's struct
  kUnused,    // has a name, is sent as 0 and ignored on receipt [MRC-WIRE-6]
  kReserved,  // the same without a meaning; the dissector warns when it is not 0
};

enum class Show : uint8_t { kDecimal, kHex, kShortHex, kName, kNameAndHex };

// The properties of a field without its type. Bits count from 7, the most significant one, to 0.
struct FieldRow {
  const char* name;   // in spec/wire.md and in the dissector's filters
  uint16_t byte;      // from the start of the header: that of the first bit
  uint8_t bit;        // the first, most significant bit within that byte
  uint16_t width;     // bits
  const char* label;  // a few words for people
  FieldKind kind;
  Show show = Show::kDecimal;
  const char* text = nullptr;         // its name in lines of text; nullptr: left out there
  const ValueNames* names = nullptr;  // with Show::kName and kNameAndHex, or for the dissector alone
  bool conditional = false;           // present only when the flag `condition` of the same header ...
  bool condition_value = false;       // ... has this value
  const char* condition = nullptr;

  constexpr uint32_t first_bit() const { return byte * 8u + 7u - bit; }
  constexpr uint32_t end_bit() const { return first_bit() + width; }
};

// The way from a header to one of its members: one step, or two where a header contains another. None for fields that
// are not carried.
template <auto... Members>
struct Path {
  static constexpr bool kEmpty = sizeof...(Members) == 0;
  template <typename Header>
  static constexpr auto& of(Header& h) {
    return (h.*....*Members);
  }
};

struct Always {
  template <typename Header>
  static constexpr bool holds(const Header&) {
    return true;
  }
};
template <auto Flag, bool Value>
struct When {
  template <typename Header>
  static constexpr bool holds(const Header& h) {
    return h.*Flag == Value;
  }
};

template <typename MemberPath, typename Condition = Always>
struct Field {
  using path = MemberPath;
  using condition = Condition;
  FieldRow row;

  constexpr Field text(const char* name) const {
    return with([&](FieldRow* r) { r->text = name; });
  }
  constexpr Field no_text() const { return text(nullptr); }
  constexpr Field hex() const {
    return with([](FieldRow* r) { r->show = Show::kHex; });
  }
  constexpr Field short_hex() const {
    return with([](FieldRow* r) { r->show = Show::kShortHex; });
  }  // no leading zeros
  // `names` must outlive the table.
  constexpr Field named(const ValueNames* names, Show show = Show::kName) const {
    return with([&](FieldRow* r) {
      r->names = names;
      r->show = show;
    });
  }
  // The field is present only when `flag` of this header is `Value`; the other reading of the same bits follows it or
  // goes before it in the table. `flag` must come before both.
  template <auto Flag, bool Value>
  constexpr Field<MemberPath, When<Flag, Value>> when(const char* flag) const {
    Field<MemberPath, When<Flag, Value>> f{row};
    f.row.conditional = true;
    f.row.condition = flag;
    f.row.condition_value = Value;
    return f;
  }
  template <auto Outer>
  constexpr auto inside(uint16_t byte) const {
    return [&]<auto... Inner>(Path<Inner...>) {
      constexpr bool kCarried = sizeof...(Inner) != 0;
      using Longer = std::conditional_t<kCarried, Path<Outer, Inner...>, Path<>>;
      Field<Longer, Condition> f{row};
      f.row.byte = static_cast<uint16_t>(f.row.byte + byte);
      return f;
    }
    (MemberPath());
  }

 private:
  template <typename Change>
  constexpr Field with(Change change) const {
    Field f = *this;
    change(&f.row);
    return f;
  }
};

template <auto Member>
constexpr Field<Path<Member>> field(const char* name, uint16_t byte, uint8_t bit, uint16_t width, const char* label) {
  return {{name, byte, bit, width, label, FieldKind::kCarried, Show::kDecimal, name}};
}
constexpr Field<Path<>> unused(const char* name, uint16_t byte, uint8_t bit, uint16_t width, const char* label) {
  return {{name, byte, bit, width, label, FieldKind::kUnused}};
}
constexpr Field<Path<>> reserved(uint16_t byte, uint8_t bit, uint16_t width, const char* name = "reserved") {
  return {{name, byte, bit, width, "Reserved", FieldKind::kReserved}};
}

// The fields of another header that begins at `byte` and is the member `Member` of this one.
template <auto Member, typename... Fields>
constexpr auto embedded(uint16_t byte, const std::tuple<Fields...>& fields) {
  return std::apply([&](const auto&... f) { return std::tuple{f.template inside<Member>(byte)...}; }, fields);
}

// Size of a header in bytes. Not a constant expression, so an error in the build, unless the rows fill whole 32-bit
// words in order, without a gap; two rows of opposite conditions may share their bits. No pointer is compared here:
// with -fsanitize=undefined, GCC 12 takes no such comparison for a constant.
template <typename... Fields>
consteval uint32_t size_of(const std::tuple<Fields...>& fields) {
  uint32_t at = 0, before = 0;
  FieldRow previous{};
  const auto take = [&](const FieldRow& r) {
    const bool alternative = r.conditional && previous.conditional && r.condition_value != previous.condition_value &&
                             r.first_bit() == before && r.end_bit() == at;
    if (!alternative && (r.bit > 7 || r.width == 0 || r.first_bit() != at)) throw "gap or overlap";
    before = r.first_bit();
    at = r.end_bit();
    previous = r;
  };
  std::apply([&](const auto&... f) { (take(f.row), ...); }, fields);
  if (at % 32 != 0) throw "not a multiple of four bytes";
  return at / 8;
}

// Calls visit(row, member) for each field present in `h`, in the order of the table.
template <typename Header, typename Visit>
void for_each_field(const Header& h, Visit visit) {
  const auto one = [&]<typename P, typename C>(const Field<P, C>& f) {
    if constexpr (!P::kEmpty) {
      if (C::holds(h)) visit(f.row, P::of(h));
    }
  };
  std::apply([&](const auto&... f) { (one(f), ...); }, Header::kFields);
}

// The same for all rows, reserved ones included, without a value.
template <typename Header, typename Visit>
constexpr void for_each_row(Visit visit) {
  std::apply([&](const auto&... f) { (visit(f.row), ...); }, Header::kFields);
}

// The row of a field by name; an error in the build when there is none.
template <typename Header>
consteval FieldRow row_of(const char* name) {
  FieldRow found{};
  bool any = false;
  const auto same = [](const char* a, const char* b) {
    while (*a != 0 && *a == *b) ++a, ++b;
    return *a == *b;
  };
  for_each_row<Header>([&](const FieldRow& r) {
    if (same(r.name, name)) found = r, any = true;
  });
  if (!any) throw "no such field";
  return found;
}

// Mask of a flag within its byte.
template <typename Header>
consteval uint8_t flag_mask(const char* name) {
  return static_cast<uint8_t>(1u << row_of<Header>(name).bit);
}

// Name and title of a header, for tables of headers.
struct HeaderInfo {
  const char* name = "";
  const char* title = "";
  uint32_t size = 0;
  bool only_with_ts = false;  // there only with BTH.ts
};

}  // namespace mrc::wire
