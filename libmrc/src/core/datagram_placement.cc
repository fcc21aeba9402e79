#include "core/datagram_placement.h"

#include <algorithm>
#include <cstring>

#include "memory_guard.h"
#include "wire/bytes.h"
#include "wire/udp.h"

namespace mrc::core {

namespace {

constexpr uint8_t kUdpProtocol = 17;
constexpr uint8_t kHopLimit = 64;
constexpr size_t kV4Offset = 20;  // of the IPv4 header in the 40 bytes

uint16_t v4_checksum(const uint8_t* header) {
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// Copies to the elements of a receive request, in order.
class Scatter {
 public:
  Scatter(const MemoryTable& memory, uint32_t pd, const DatagramReceiveQueue::Request& to, MemoryFault* fault)
      : memory_(memory), pd_(pd), to_(to), fault_(fault) {}
  [[nodiscard]] bool put(const uint8_t* from, size_t bytes) {
    while (bytes > 0) {
      if (element_ == to_.num_sge) return false;
      const Sge& s = to_.sges[element_];
      const MemoryRegion* const mr = memory_.find(s.lkey);
      if (mr == nullptr || mr->pd != pd_ || (mr->access & kAccessLocalWrite) == 0 || !mr->covers(s.addr, s.length))
        return false;
      const size_t part = std::min<size_t>(bytes, s.length - offset_);
      if (mr->base != nullptr && !copy(*mr, s.addr + offset_, from, part)) return false;
      from += part;
      bytes -= part;
      offset_ += part;
      if (offset_ < s.length) continue;
      offset_ = 0;
      ++element_;
    }
    return true;
  }

 private:
  [[nodiscard]] bool copy(const MemoryRegion& mr, uint64_t to, const uint8_t* from, size_t bytes) {
    const iovec room{mr.at(to), bytes};
    const std::optional<uint64_t> at =
        environment::guarded(&room, 1, [&room, from] { std::memcpy(room.iov_base, from, room.iov_len); });
    if (at && fault_ != nullptr) *fault_ = mr.fault_at(*at, true);
    return !at;
  }

  const MemoryTable& memory_;
  const uint32_t pd_;
  const DatagramReceiveQueue::Request& to_;
  MemoryFault* const fault_;
  uint32_t element_ = 0;
  size_t offset_ = 0;
};

}  // namespace

Grh make_grh(const wire::Flow& flow, const IpAddress& source, const IpAddress& destination, uint32_t udp_payload) {
  Grh grh{};
  const uint32_t udp_length = udp_payload + wire::kUdpHeaderBytes;
  if (source.is_v4() && destination.is_v4()) {
    uint8_t* const h = grh.data() + kV4Offset;
    h[0] = 0x45;
    h[1] = flow.traffic_class;
    wire::put16(h + 2, static_cast<uint16_t>(udp_length + 20));
    wire::put16(h + 6, 0x4000);  // do not fragment
    h[8] = kHopLimit;
    h[9] = kUdpProtocol;
    std::copy_n(source.bytes.data() + 12, 4, h + 12);
    std::copy_n(destination.bytes.data() + 12, 4, h + 16);
    wire::put16(h + 10, v4_checksum(h));
    return grh;
  }
  wire::put32(grh.data(), 6u << 28 | static_cast<uint32_t>(flow.traffic_class) << 20 | (flow.flow_label & 0xFFFFF));
  wire::put16(grh.data() + 4, static_cast<uint16_t>(udp_length));
  grh[6] = kUdpProtocol;
  grh[7] = kHopLimit;
  std::copy_n(source.bytes.data(), 16, grh.data() + 8);
  std::copy_n(destination.bytes.data(), 16, grh.data() + 24);
  return grh;
}

bool place_datagram(const MemoryTable& memory, uint32_t pd, const DatagramReceiveQueue::Request& to, const Grh& grh,
                    std::span<const uint8_t> data, MemoryFault* fault) {
  Scatter scatter(memory, pd, to, fault);
  return scatter.put(grh.data(), grh.size()) && scatter.put(data.data(), data.size());
}

}  // namespace mrc::core
