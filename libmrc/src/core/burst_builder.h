// BurstBuilder lays packets into a TxBurst: headers into the burst's own memory, payload by reference, pad and ICRC
// behind it. The trailer of one packet and the headers of the next are adjacent and share an iovec. With staging, all
// of it is contiguous: a system call with one iovec saves more than the copy costs, which the ICRC's pass over the
// payload makes on the way. The ICRC of a packet is computed when the next one begins, so that AckReq can still be set
// on the last; its prefix over IP and UDP is computed once per packet size [MRC-ICRC-6].
#pragma once

#include <cstring>
#include <span>

#include "base/invariant.h"
#include "base/prefetch.h"
#include "core/burst.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/udp.h"

namespace mrc::core {

class BurstBuilder {
 public:
  BurstBuilder(TxBurst* burst, bool icrc) : b_(*burst), icrc_(icrc), staged_(icrc && burst->staging != nullptr) {
    b_.segments = b_.segment_size = b_.bytes = b_.iov_count = 0;
    cursor_ = staged_ ? b_.staging : b_.headers.data();
  }

  // Destination of the next packet's headers.
  std::span<uint8_t> header() { return {cursor_, wire::kMaxHeaderBytes}; }

  // `header_len` bytes were written at header(); the payload must not change until the next call, without staging
  // until the burst is sent.
  void add(uint32_t header_len, const iovec* payload, int payload_iovs, uint32_t payload_len) {
    for (int i = 0; i < payload_iovs; ++i) prefetch(payload[i].iov_base, payload[i].iov_len);
    seal();
    pending_header_ = cursor_;
    pending_header_len_ = header_len;
    append(cursor_, header_len);
    cursor_ += header_len;
    pending_payload_ = b_.iov_count;
    for (int i = 0; i < payload_iovs; ++i) b_.iov[pending_payload_ + static_cast<uint32_t>(i)] = payload[i];
    if (staged_) {  // the entries behind the first only keep the pieces until seal()
      staged_payload_ = cursor_;
      cursor_ += payload_len;
      b_.iov[0].iov_len += payload_len;
    } else {
      b_.iov_count += static_cast<uint32_t>(payload_iovs);
    }
    pending_pad_ = wire::pad_for(payload_len);
    std::memset(cursor_, 0, pending_pad_);
    pending_trailer_ = cursor_;
    cursor_ += pending_pad_ + wire::kIcrcBytes;
    pending_bytes_ = header_len + payload_len + pending_pad_ + wire::kIcrcBytes;
    append(pending_trailer_, pending_pad_ + wire::kIcrcBytes);
    pending_payload_iovs_ = static_cast<uint32_t>(payload_iovs);
    pending_ = true;
    if (b_.segments == 0) b_.segment_size = pending_bytes_;
    ++b_.segments;
    b_.bytes += pending_bytes_;
  }

  // True if there is room for one more packet with up to `payload_iovs` pieces.
  bool room(uint32_t payload_iovs) const {
    return b_.segments < kMaxSegments && b_.iov_count + payload_iovs + 2 <= kMaxIov;
  }

  void set_ack_req_on_last() {
    if (pending_) wire::set_ack_req(pending_header_);
  }

  void finish() {
    seal();
    if constexpr (kCheckInvariants) check();
  }
  // The pieces are the packets, all of the first one's size but for the last.
  void check() const {
    MRC_INVARIANT(b_.segments <= kMaxSegments && b_.iov_count <= kMaxIov);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b_.iov_count; ++i) bytes += b_.iov[i].iov_len;
    MRC_INVARIANT(bytes == b_.bytes);
    MRC_INVARIANT(b_.segments == 0 || (bytes + b_.segment_size - 1) / b_.segment_size == b_.segments);
  }

 private:
  void append(uint8_t* p, uint32_t n) {
    if (b_.iov_count > 0) {
      iovec& last = b_.iov[b_.iov_count - 1];
      if (static_cast<uint8_t*>(last.iov_base) + last.iov_len == p) {
        last.iov_len += n;
        return;
      }
    }
    b_.iov[b_.iov_count++] = {p, n};
  }

  void seal() {
    if (!pending_) return;
    pending_ = false;
    uint8_t* trailer = pending_trailer_ + pending_pad_;
    if (!icrc_) {
      std::memset(trailer, 0, wire::kIcrcBytes);
      return;
    }
    if (pending_bytes_ != prefix_bytes_) {
      prefix_ = wire::icrc_start(b_.flow, pending_bytes_);
      prefix_bytes_ = pending_bytes_;
    }
    uint32_t crc = wire::icrc_update_headers(prefix_, {pending_header_, pending_header_len_});
    for (uint32_t i = 0; i < pending_payload_iovs_; ++i) {
      const iovec& piece = b_.iov[pending_payload_ + i];
      if (staged_) {
        crc = wire::icrc_update_copy(crc, staged_payload_, piece.iov_base, piece.iov_len);
        staged_payload_ += piece.iov_len;
      } else {
        crc = wire::icrc_update(crc, piece.iov_base, piece.iov_len);
      }
    }
    if (pending_pad_ != 0) crc = wire::icrc_update(crc, pending_trailer_, pending_pad_);
    wire::icrc_store(trailer, wire::icrc_finish(crc));
  }

  TxBurst& b_;
  bool icrc_, staged_;
  bool pending_ = false;
  uint8_t* cursor_;
  uint8_t* pending_header_ = nullptr;
  uint8_t* pending_trailer_ = nullptr;
  uint8_t* staged_payload_ = nullptr;
  uint32_t pending_header_len_ = 0;
  uint32_t pending_payload_ = 0;
  uint32_t pending_payload_iovs_ = 0;
  uint32_t pending_pad_ = 0;
  uint32_t pending_bytes_ = 0;
  uint32_t prefix_ = 0;
  uint32_t prefix_bytes_ = 0;
};

}  // namespace mrc::core
