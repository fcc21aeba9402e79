// BurstBuilder lays packets into a TxBurst. With staging, as in every device, headers, a copy of the payload, pad and
// ICRC are contiguous there: a system call with one iovec saves more than the copy costs, which the ICRC's pass over
// the payload makes on the way. Without, headers and trailers are in the burst's own memory and the payload is by
// reference; the trailer of one packet and the headers of the next are adjacent and share an iovec. The ICRC of a
// packet is computed when the next one begins, so that AckReq can still be set on the last; its prefix over IP and UDP
// is computed once per packet size [MRC-ICRC-6].
//
// The payload is read from the application's memory, which may be gone: the burst ends before the first packet whose
// payload cannot be read. [MRC-REQ-11]
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/prefetch.h"
#include "core/burst.h"
#include "invariant.h"
#include "memory_guard.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/udp.h"

namespace mrc::core {

class BurstBuilder {
 public:
  BurstBuilder(TxBurst* burst, bool icrc)
      : b_(*burst), icrc_(icrc), staged_((icrc || burst->always_staged) && burst->staging != nullptr) {
    b_.segments = b_.segment_size = b_.bytes = b_.iov_count = 0;
    cursor_ = staged_ ? b_.staging : b_.headers.data();
  }

  // Destination of the next packet's headers.
  std::span<uint8_t> header() { return {cursor_, wire::kMaxHeaderBytes}; }

  // `header_len` bytes were written at header(). With staging the payload may change at any moment: the ICRC is that of
  // the bytes copied. Without, it must not change until the burst is sent.
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

  // A packet whose payload could not be read.
  struct Unreadable {
    uint64_t address = 0;
    Psn psn;
    uint32_t segment = 0;  // of the burst
  };

  void finish() {
    seal();
    if (__builtin_expect(unreadable_.has_value(), 0)) cut(unreadable_->segment);
    if constexpr (kCheckInvariants) check();
  }
  // After finish(): the first packet that is missing; the burst may be empty.
  const std::optional<Unreadable>& unreadable() const { return unreadable_; }
  // The pieces are the packets, all of the first one's size but for the last.
  void check() const {
    MRC_INVARIANT(b_.segments <= kMaxSegments && b_.iov_count <= kMaxIov);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b_.iov_count; ++i) bytes += b_.iov[i].iov_len;
    MRC_INVARIANT(bytes == b_.bytes);
    MRC_INVARIANT(b_.segments == 0 || (bytes + b_.segment_size - 1) / b_.segment_size == b_.segments);
  }

 private:
  struct Prefix {
    uint32_t crc = 0;
    uint32_t bytes = 0;  // of the packets that have it
  };
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
      if (staged_ && pending_payload_iovs_ != 0) (void)read_payload(0);
      std::memset(trailer, 0, wire::kIcrcBytes);
      return;
    }
    if (pending_bytes_ != prefix_.bytes) prefix_ = {wire::icrc_start(b_.flow, pending_bytes_), pending_bytes_};
    uint32_t crc = wire::icrc_update_headers(prefix_.crc, {pending_header_, pending_header_len_});
    if (pending_payload_iovs_ != 0) crc = read_payload(crc);
    if (pending_pad_ != 0) crc = wire::icrc_update(crc, pending_trailer_, pending_pad_);
    wire::icrc_store(trailer, wire::icrc_finish(crc));
  }

  // The pass over the payload: copies it, computes the ICRC, or both.
  uint32_t read_payload(uint32_t crc) {
    const iovec* const pieces = &b_.iov[pending_payload_];
    const auto read = [this, &crc] {
      for (const iovec& piece : std::span(&b_.iov[pending_payload_], pending_payload_iovs_)) {
        if (!icrc_) {
          std::memcpy(staged_payload_, piece.iov_base, piece.iov_len);
        } else if (staged_) {
          crc = wire::icrc_update_copy(crc, staged_payload_, piece.iov_base, piece.iov_len);
        } else {
          crc = wire::icrc_update(crc, piece.iov_base, piece.iov_len);
        }
        if (staged_) staged_payload_ += piece.iov_len;
      }
    };
    const std::optional<uint64_t> fault = environment::guarded(pieces, static_cast<int>(pending_payload_iovs_), read);
    if (__builtin_expect(fault.has_value() && !unreadable_, 0))
      unreadable_ = {*fault, wire::encoded_psn(pending_header_), b_.segments - 1};
    return crc;
  }

  // Only the first `segments` packets remain.
  void cut(uint32_t segments) {
    b_.segments = segments;
    b_.bytes = segments * b_.segment_size;
    uint32_t left = b_.bytes, count = 0;
    for (; left > 0; ++count) {
      iovec& piece = b_.iov[count];
      piece.iov_len = std::min<size_t>(piece.iov_len, left);
      left -= static_cast<uint32_t>(piece.iov_len);
    }
    b_.iov_count = count;
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
  Prefix prefix_;
  std::optional<Unreadable> unreadable_;
};

}  // namespace mrc::core
