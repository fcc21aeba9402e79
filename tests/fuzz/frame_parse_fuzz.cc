// Any frame, as hostile outer headers, SRHs and neighbour messages come: reading stays inside, what is taken lies
// inside the frame, and writing what was read gives a frame that reads the same [MRC-SR-11..15] [MRC-SR-20].
#include <cstdint>
#include <cstring>
#include <vector>

#include "datapath/frame/frame.h"
#include "datapath/frame/neighbour_message.h"
#include "fuzz_input.h"

namespace {

using namespace mrc::datapath;

using mrc::fuzz::require;

bool same(const mrc::wire::Flow& a, const mrc::wire::Flow& b) {
  return a.src == b.src && a.dst == b.dst && a.src_port == b.src_port && a.dst_port == b.dst_port &&
         a.flow_label == b.flow_label && a.traffic_class == b.traffic_class;
}

void read_again(const ParsedFrame& first) {
  SegmentPath path;
  path.destination = first.encapsulated ? first.outer_destination : first.flow.dst;
  FrameHeader header;
  write_header(first.flow, path, first.payload_bytes, &header);
  std::vector<uint8_t> bytes(header.bytes.begin(), header.bytes.begin() + header.length);
  bytes.insert(bytes.end(), first.payload, first.payload + first.payload_bytes);
  const auto second = parse_frame(bytes.data(), static_cast<uint32_t>(bytes.size()));
  require(second.has_value(), "own frame is refused");
  require(same(first.flow, second->flow), "flow differs");
  require(second->payload_bytes == first.payload_bytes &&
              std::memcmp(second->payload, first.payload, first.payload_bytes) == 0,
          "payload differs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exactly that size: the sanitizer sees the first byte that is read behind it.
  const std::vector<uint8_t> frame(data, data + size);
  const auto bytes = static_cast<uint32_t>(size);
  (void)parse_neighbour(frame.data(), bytes);
  const auto parsed = parse_frame(frame.data(), bytes);
  if (!parsed) return 0;
  require(parsed->payload >= frame.data() && parsed->payload + parsed->payload_bytes <= frame.data() + size,
          "payload outside the frame");
  (void)is_for(*parsed, parsed->flow.dst, parsed->flow.dst_port, 0);
  if (parsed->payload_bytes + kUdpBytes + kIpv6Bytes <= UINT16_MAX) read_again(*parsed);
  return 0;
}
