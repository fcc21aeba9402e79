// Bursts with recognisable bytes, to be sent through a datapath.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/ip.h"
#include "core/burst.h"
#include "datapath/host_datapath.h"

namespace mrc::datapath {

// Byte i of a burst's payload: differs between bursts by `salt` and between segments.
inline uint8_t pattern(uint32_t salt, uint32_t i) {
  return static_cast<uint8_t>(salt * 31 + i * 7 + i / 251);
}

// A burst whose iovecs are cut at awkward places: headers inside the object, payload in `payload`.
struct TestBurst {
  core::TxBurst burst;
  std::vector<uint8_t> payload;

  TestBurst(uint32_t segments, uint32_t segment_size, uint32_t last, uint32_t salt) {
    burst.segments = segments;
    burst.segment_size = segment_size;
    burst.bytes = (segments - 1) * segment_size + last;
    payload.resize(burst.bytes);
    for (uint32_t i = 0; i < burst.bytes; ++i) payload[i] = pattern(salt, i);
    burst.iov_count = 0;
    uint32_t at = 0;
    for (uint32_t s = 0; s < segments; ++s) {
      uint32_t size = s + 1 == segments ? last : segment_size;
      uint32_t head = std::min<uint32_t>(size, 16);
      uint8_t* header = burst.headers.data() + s * core::kHeaderRoom;
      std::memcpy(header, payload.data() + at, head);
      burst.iov[burst.iov_count++] = {header, head};
      if (size > head) burst.iov[burst.iov_count++] = {payload.data() + at + head, size - head};
      at += size;
    }
  }
  TestBurst(const TestBurst&) = delete;

  void address(HostDatapath& from, HostDatapath& to, EvIndex ev_index, const IpAddress& ip, uint8_t traffic_class = 0) {
    const core::EvEntry& ev = from.evs()[ev_index];
    burst.plane = ev.plane;
    burst.ev_index = ev_index;
    burst.flow.src = burst.flow.dst = ip;
    burst.flow.src_port = static_cast<uint16_t>(ev.value);
    burst.flow.dst_port = to.plane_port(ev.plane);
    burst.flow.flow_label = ev.value >> 16;
    burst.flow.traffic_class = traffic_class;
  }
};

}  // namespace mrc::datapath
