#include "datapath/srv6/usid.h"

#include <algorithm>
#include <cstring>

namespace mrc::datapath {

namespace {

uint16_t usid_at(const IpAddress& address, uint32_t place) {
  const size_t at = kBlockBytes + static_cast<size_t>(place) * kUsidBytes;
  return static_cast<uint16_t>(address.bytes[at] << 8 | address.bytes[at + 1]);
}

void put_usid(uint16_t usid, uint32_t place, IpAddress* address) {
  const size_t at = kBlockBytes + static_cast<size_t>(place) * kUsidBytes;
  address->bytes[at] = static_cast<uint8_t>(usid >> 8);
  address->bytes[at + 1] = static_cast<uint8_t>(usid);
}

// An address of the block of `to` that holds via[first, first + count) and then, if requested, the uSIDs of `to`.
IpAddress carrier(const UsidList& via, uint32_t first, uint32_t count, const IpAddress& to, uint32_t tail) {
  IpAddress address;
  std::copy_n(to.bytes.begin(), kBlockBytes, address.bytes.begin());
  for (uint32_t i = 0; i < count; ++i) put_usid(via[first + i], i, &address);
  for (uint32_t i = 0; i < tail; ++i) put_usid(usid_at(to, i), count + i, &address);
  return address;
}

}  // namespace

uint32_t usid_count(const IpAddress& address) {
  uint32_t count = kUsidsPerAddress;
  while (count > 0 && usid_at(address, count - 1) == 0) --count;
  return count;
}

UsidList usids_of(const IpAddress& address) {
  UsidList usids;
  for (uint32_t i = 0; i < kUsidsPerAddress && usid_at(address, i) != 0; ++i) usids.push_back(usid_at(address, i));
  return usids;
}

UsidList usids_of(const SegmentPath& path) {
  UsidList usids = usids_of(path.destination);
  if (!path.has_segment) return usids;
  const UsidList rest = usids_of(path.segment);
  usids.insert(usids.end(), rest.begin(), rest.end());
  return usids;
}

// A switch that finds no uSID behind its own continues with the SRH, so the destination may be filled with uSIDs of
// switches to the last place.
std::optional<SegmentPath> compose_path(const UsidList& via, const IpAddress& to) {
  const auto count = static_cast<uint32_t>(via.size());
  const uint32_t tail = usid_count(to);
  if (count + tail <= kUsidsPerAddress) return SegmentPath{carrier(via, 0, count, to, tail), {}, false};
  const uint32_t first = std::min(count, kUsidsPerAddress);
  if (first == 0 || count - first + tail > kUsidsPerAddress) return std::nullopt;
  return SegmentPath{carrier(via, 0, first, to, 0), carrier(via, first, count - first, to, tail), true};
}

IpAddress shift_usid(const IpAddress& address) {
  IpAddress shifted = address;
  std::memmove(shifted.bytes.data() + kBlockBytes, shifted.bytes.data() + kBlockBytes + kUsidBytes,
               (kUsidsPerAddress - 1) * kUsidBytes);
  put_usid(0, kUsidsPerAddress - 1, &shifted);
  return shifted;
}

}  // namespace mrc::datapath
