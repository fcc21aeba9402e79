// See sections.h. The dissector's tables: names of values, headers by opcode, and the fields of each header as
// { offset, bytes, name, text [, mask [, value names]] } with what else is known of them by name.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <type_traits>
#include <vector>

#include "append_item.h"
#include "sections.h"
#include "wire/codec.h"

namespace mrc::tools {
namespace {

using wire::Field;
using wire::FieldKind;
using wire::FieldRow;

std::string hex(uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%02" PRIX64, v);
  return text;
}

std::string quoted(const std::string& s) {
  return "\"" + s + "\"";
}

// The lists of names that fields refer to. Those of opcodes are in a table of their own.
std::vector<const wire::ValueNames*> value_names() {
  std::vector<const wire::ValueNames*> lists;
  wire::for_each_header([&]<typename Header>() {
    wire::for_each_row<Header>([&](const FieldRow& r) {
      if (r.names == nullptr || r.names == &wire::kOpcodeNames) return;
      if (std::find(lists.begin(), lists.end(), r.names) == lists.end()) lists.push_back(r.names);
    });
  });
  return lists;
}

std::string values() {
  std::string s;
  for (const wire::ValueNames* names : value_names()) {
    s += "local " + std::string(names->id) + " = {\n";
    std::string ranges;
    for (const wire::ValueName& v : names->list) {
      if (v.first == v.last)
        s += "  [" + hex(v.first) + "] = " + quoted(v.name) + ",\n";
      else
        ranges += "for value = " + hex(v.first) + ", " + hex(v.last) + " do " + names->id +
                  "[value] = " + quoted(v.name) + " end\n";
    }
    s += "}\n" + ranges;
  }
  return s;
}

std::string opcodes() {
  std::string s = "local OPCODES = {\n";
  for (const wire::OpcodeLayout& o : wire::kLayouts) {
    const char* kind = wire::is_request(o.opcode)              ? "REQUEST"
                       : wire::is_datagram(o.opcode)           ? "DATAGRAM"
                       : wire::is_endpoint_operation(o.opcode) ? "ENDPOINT"
                                                               : "CONTROL";
    std::string headers;
    for (const wire::HeaderInfo& h : o.headers)
      if (h.size != 0) append_item(&headers, quoted(header_key(h)));
    s += "  [" + hex(static_cast<uint8_t>(o.opcode)) + "] = { name = " + quoted(wire::opcode_name(o.opcode)) +
         ", kind = " + kind + ", headers = { " + headers + " }" +
         (wire::ends_message(o.opcode) ? ", ends = true" : "") + (wire::is_only(o.opcode) ? ", only = true" : "") +
         " },\n";
  }
  return s + "}\n";
}

// Names must differ within a header: further reserved fields are numbered.
std::string unique_name(const FieldRow& r, int* reserved) {
  if (r.kind != FieldKind::kReserved || std::string(r.name) != "reserved" || ++*reserved == 1) return r.name;
  return r.name + std::to_string(*reserved);
}

template <typename Header, typename P, typename C>
std::string row(const Field<P, C>& f, int* reserved) {
  const FieldRow& r = f.row;
  const uint32_t first = r.byte, last = (r.end_bit() - 1) / 8, bytes = last - first + 1;
  std::string s = "    { " + std::to_string(first) + ", " + std::to_string(bytes) + ", " +
                  quoted(unique_name(r, reserved)) + ", " + quoted(r.label);
  const bool whole = r.width == 8 * bytes;
  if (!whole) s += ", " + hex(((uint64_t{1} << r.width) - 1) << (8 * (last + 1) - r.end_bit()));
  if (r.names != nullptr) s += (whole ? ", nil, " : ", ") + std::string(r.names->id);
  if (r.show != wire::Show::kDecimal && r.show != wire::Show::kName) s += ", hex = true";
  if (r.kind == FieldKind::kReserved) s += ", reserved = true";
  if (r.conditional) s += ", when = { " + quoted(r.condition) + ", " + (r.condition_value ? "1" : "0") + " }";
  if constexpr (!P::kEmpty) {
    using T = std::remove_cvref_t<decltype(P::of(std::declval<Header&>()))>;
    if (std::is_same_v<T, IpAddress>) s += ", address = true";
    if (std::is_same_v<T, int16_t>) s += ", signed = true";
  }
  return s + " },\n";
}

std::string headers() {
  std::string s = "local HEADERS = {\n";
  wire::for_each_header([&]<typename Header>() {
    s += "  " + header_key(Header::kInfo) + " = { bytes = " + std::to_string(Header::kSize) +
         ", name = " + quoted(Header::kInfo.name) + ", text = " + quoted(Header::kInfo.title) + ", fields = {\n";
    int reserved = 0;
    std::apply([&](const auto&... f) { ((s += row<Header>(f, &reserved)), ...); }, Header::kFields);
    s += "  } },\n";
  });
  return s + "}\n";
}

}  // namespace

std::optional<std::string> lua_section(const std::string& name) {
  if (name == "values") return values();
  if (name == "opcodes") return opcodes();
  if (name == "headers") return headers();
  return std::nullopt;
}

}  // namespace mrc::tools
