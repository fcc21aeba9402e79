// Golden bytes of spec/vectors/wire_headers.json for the tests of the wire layer.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "wire/flow.h"

namespace mrc::wire {

inline std::vector<uint8_t> from_hex(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

inline nlohmann::json golden(const char* section) {
  std::ifstream file(MRC_SOURCE_DIR "/spec/vectors/wire_headers.json");
  return nlohmann::json::parse(file).at(section);
}

struct GoldenPacket {
  std::string name;
  Flow flow;
  std::vector<uint8_t> bytes;  // BTH to ICRC
};

inline std::vector<GoldenPacket> golden_packets() {
  std::vector<GoldenPacket> packets;
  for (const auto& v : golden("packets")) {
    GoldenPacket p;
    p.name = v.at("name");
    p.bytes = from_hex(v.at("hex"));
    const std::optional<IpAddress> src = IpAddress::parse(v.at("src")), dst = IpAddress::parse(v.at("dst"));
    if (!src || !dst) return {};
    p.flow.src = *src;
    p.flow.dst = *dst;
    p.flow.src_port = v.at("src_port");
    p.flow.dst_port = v.at("dst_port");
    packets.push_back(p);
  }
  return packets;
}

}  // namespace mrc::wire
