#include "arrival.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "huge_memory.h"

namespace udp_limit {

namespace {

constexpr size_t kBuffer = 65536;
constexpr size_t kMaxPackets = 256;  // of a burst that is scattered

}  // namespace

Arrival::Arrival(const Options& options, mrc::tools::Reception* reception)
    : options_(options),
      reception_(*reception),
      crc_(crc_of(options.crc)),
      copies_(options.place == "copy"),
      scatters_(options.place == "scatter"),
      payload_(options.size - static_cast<uint32_t>(sizeof(Header))) {
  buffer_ = options.huge ? map_huge_memory(kHugePage) : static_cast<uint8_t*>(std::aligned_alloc(4096, kBuffer));
  if (buffer_ == nullptr) fail("memory");
  headers_.resize(scatters_ ? std::min(kBuffer / options.size + 1, kMaxPackets) : 1);
  iov_.resize(scatters_ ? 2 * headers_.size() : 1);
}

void Arrival::prepare(msghdr* message) {
  if (scatters_) {
    uint8_t* to = reception_.session() != 0 ? reception_.ahead(kBuffer) : buffer_;
    for (size_t i = 0; i < headers_.size(); ++i) {
      iov_[2 * i] = {&headers_[i], sizeof(Header)};
      iov_[2 * i + 1] = {to, payload_};
      to += payload_;
    }
  } else {
    iov_[0] = {buffer_, kBuffer};
  }
  message->msg_iov = iov_.data();
  message->msg_iovlen = iov_.size();
}

void Arrival::place(uint64_t bytes) {
  const uint64_t packets = (bytes + options_.size - 1) / options_.size;
  if (scatters_) {
    const uint8_t* const to = reception_.ahead(kBuffer);
    if (crc_ != Crc::kNone && payload_ != 0)
      for (uint64_t i = 0; i < std::min<uint64_t>(packets, kBuffer / payload_); ++i)
        sum_ ^= pass_over(crc_, to + i * payload_, payload_);
    reception_.advance(bytes - std::min(bytes, packets * sizeof(Header)));
    return;
  }
  if (crc_ != Crc::kNone)
    for (uint64_t at = sizeof(Header); at < bytes; at += options_.size)
      sum_ ^= pass_over(crc_, buffer_ + at, std::min<uint64_t>(payload_, bytes - at));
  if (copies_) std::memcpy(reception_.place(bytes), buffer_, bytes);
}

}  // namespace udp_limit
