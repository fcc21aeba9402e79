// The library's decoder for the dissector's tests: reads lines "SRC DST SRC_PORT DST_PORT FLOW_LABEL TRIMMED HEX" and
// prints one JSON object per line: error (decode_error_name), icrc (good, bad or none) and every decoded field under
// the name that the dissector gives it.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::wire {
namespace {

using nlohmann::json;

template <typename T>
json value_of(const T& value) {
  if constexpr (std::is_same_v<T, IpAddress>) {
    return value.to_string();
  } else if constexpr (kIsArray<T>) {
    std::string bytes;
    for (const uint16_t v : value)
      for (const int byte : {v >> 8, v & 0xFF}) {
        char text[4];
        std::snprintf(text, sizeof text, "%s%02x", bytes.empty() ? "" : ":", byte);
        bytes += text;
      }
    return bytes;
  } else if constexpr (std::is_same_v<T, int16_t>) {
    return value;
  } else {
    return to_bits(value);
  }
}

template <typename Header>
void put(json* f, const Header& h) {
  std::string key = Header::kInfo.name;
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
  for_each_field(h, [&](const FieldRow& r, const auto& value) { (*f)["mrc." + key + "." + r.name] = value_of(value); });
  if constexpr (std::is_same_v<Header, Seth>) {
    if (!h.pr) (*f)["mrc.seth.ack_psn"] = h.ack_psn().value();
  }
}

json fields_of(const Packet& p) {
  json f;
  put(&f, p.bth);
  if (is_request(p.bth.opcode)) {
    put(&f, p.meth);
    if (p.bth.ts) put(&f, p.tseth);
    if (!p.trimmed) {
      put(&f, p.req.reth);
      if (with_imm(p.bth.opcode)) put(&f, p.req.imm);
      f["mrc.payload_len"] = p.payload_len;
    }
  } else if (is_datagram(p.bth.opcode)) {
    put(&f, p.ud.deth);
    if (with_imm(p.bth.opcode)) put(&f, p.ud.imm);
    f["mrc.payload_len"] = p.payload_len;
  } else if (!p.trimmed) {
    for_each_control_header(p, [&](const auto& header) { put(&f, header); });
  }
  return f;
}

json describe(const std::string& line) {
  std::istringstream in(line);
  std::string src, dst, hex;
  Flow flow;
  bool trimmed = false;
  in >> src >> dst >> flow.src_port >> flow.dst_port >> flow.flow_label >> trimmed >> hex;
  const std::optional<IpAddress> from = IpAddress::parse(src), to = IpAddress::parse(dst);
  if (!from || !to) return {{"usage", line}};
  flow.src = *from;
  flow.dst = *to;
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* at = hex.data() + 2 * i;
    if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2) return {{"usage", line}};
  }
  const auto len = static_cast<uint32_t>(bytes.size());
  Packet packet;
  const DecodeError e = trimmed ? decode_trimmed(bytes, &packet) : decode(bytes, &packet);
  json out = {{"error", decode_error_name(e)}, {"icrc", "none"}, {"ev", ev_of(flow)}};
  if (!trimmed && len >= Bth::kSize + kIcrcBytes) out["icrc"] = icrc_check(flow, bytes) ? "good" : "bad";
  if (e == DecodeError::kOk) out["fields"] = fields_of(packet);
  return out;
}

}  // namespace
}  // namespace mrc::wire

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << mrc::wire::describe(line).dump() << "\n";
}
