#include "outgoing.h"

#include <cerrno>
#include <cstring>

#include "huge_memory.h"

namespace udp_limit {

namespace {

uint8_t* memory_of(const Options& options, uint64_t bytes) {
  uint8_t* const memory = options.huge ? map_huge_memory(whole_huge_pages(bytes)) : mrc::tools::map_memory(bytes);
  if (memory == nullptr) fail("memory");
  return memory;
}

}  // namespace

Outgoing::Outgoing(const Options& options)
    : options_(options),
      crc_(crc_of(options.crc)),
      payload_(options.size - static_cast<uint32_t>(sizeof(Header))),
      taken_(uint64_t{options.staged || options.pieces ? payload_ : options.size} * options.burst),
      headers_(options.burst) {
  const uint64_t bytes = uint64_t{options.size} * options.burst;
  errno = 0;
  if (bytes > 65487) fail("a burst is at most 65,487 bytes: make --size or --burst smaller");
  memory_ = memory_of(options, options.memory);
  if (options.staged) staging_ = memory_of(options, bytes);
  iov_.resize(options.pieces ? 2 * size_t{options.burst} : 1);
  message_.msg_iov = iov_.data();
  message_.msg_iovlen = iov_.size();
}

void Outgoing::begin_session(uint32_t session) {
  for (Header& h : headers_) h.session = session;
}

void Outgoing::make_whole() {
  std::memcpy(memory_ + at_, &headers_[0], sizeof(Header));
  for (uint32_t i = 0; i < options_.burst && crc_ != Crc::kNone; ++i)
    headers_[i].value = pass_over(crc_, memory_ + at_ + i * options_.size + sizeof(Header), payload_);
  iov_[0] = {memory_ + at_, taken_};
}

void Outgoing::make_staged() {
  for (uint32_t i = 0; i < options_.burst; ++i) {
    uint8_t* const packet = staging_ + size_t{i} * options_.size;
    headers_[i].value = pass_over(crc_, memory_ + at_ + uint64_t{i} * payload_, payload_, packet + sizeof(Header));
    std::memcpy(packet, &headers_[i], sizeof(Header));
  }
  iov_[0] = {staging_, size_t{options_.size} * options_.burst};
}

void Outgoing::make_pieces() {
  for (uint32_t i = 0; i < options_.burst; ++i) {
    uint8_t* const from = memory_ + at_ + uint64_t{i} * payload_;
    headers_[i].value = crc_ == Crc::kNone ? 0 : pass_over(crc_, from, payload_);
    iov_[2 * size_t{i}] = {&headers_[i], sizeof(Header)};
    iov_[2 * size_t{i} + 1] = {from, payload_};
  }
}

const msghdr& Outgoing::next() {
  if (at_ + taken_ > options_.memory) at_ = 0;
  if (options_.staged)
    make_staged();
  else if (options_.pieces)
    make_pieces();
  else
    make_whole();
  at_ += taken_;
  return message_;
}

}  // namespace udp_limit
