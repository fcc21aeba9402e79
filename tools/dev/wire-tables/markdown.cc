// See sections.h. The byte maps and the table of opcodes of spec/wire.md.
#include <cstdio>

#include "append_item.h"
#include "sections.h"

namespace mrc::tools {
namespace {

using wire::FieldRow;

std::string range(uint32_t first, uint32_t last, const char* between) {
  return first == last ? std::to_string(first) : std::to_string(first) + between + std::to_string(last);
}

// Empty for several whole bytes.
std::string bits_of(const FieldRow& r) {
  const uint32_t last_byte = (r.end_bit() - 1) / 8, last_bit = 7 - (r.end_bit() - 1) % 8;
  if (r.byte == last_byte) return range(r.bit, last_bit, ":");
  if (r.bit == 7 && last_bit == 0) return "";
  return range(r.bit, 0, ":") + ", " + range(7, last_bit, ":");
}

std::string row(const FieldRow& r) {
  std::string meaning = r.label;
  if (r.kind == wire::FieldKind::kUnused) meaning += " (unused)";
  if (r.conditional) meaning += std::string(" (") + r.condition + " = " + (r.condition_value ? "1" : "0") + ")";
  const std::string name = std::string(r.name) == "reserved" ? "" : r.name;
  return "| " + range(r.byte, (r.end_bit() - 1) / 8, "-") + " | " + bits_of(r) + " | " + name + " | " + meaning +
         " |\n";
}

std::string opcode_table() {
  std::string s = "| opcode | name | | headers behind BTH |\n|---|---|---|---|\n";
  for (const wire::OpcodeLayout& o : wire::kLayouts) {
    std::string headers;
    for (const wire::HeaderInfo& h : o.headers) {
      if (h.size == 0) continue;
      append_item(&headers, h.name);
      if (h.only_with_ts) headers += " if ts";
      if (std::string(h.name) == wire::Plth::kInfo.name) headers += ", SPTH if PLTH.ports";
    }
    char code[8];
    std::snprintf(code, sizeof code, "0x%02X", static_cast<unsigned>(o.opcode));
    s += std::string("| ") + code + " | " + wire::opcode_name(o.opcode) + " | " + o.title + " | " + headers + " |\n";
  }
  return s;
}

}  // namespace

std::optional<std::string> markdown_section(const std::string& name) {
  if (name == "opcode table") return opcode_table();
  std::optional<std::string> found;
  wire::for_each_header([&]<typename Header>() {
    if (name != std::string("fields of ") + Header::kInfo.name) return;
    found = "| byte | bits | field | meaning |\n|---|---|---|---|\n";
    wire::for_each_row<Header>([&](const FieldRow& r) { *found += row(r); });
  });
  return found;
}

}  // namespace mrc::tools
