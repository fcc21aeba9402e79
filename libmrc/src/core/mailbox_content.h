// MailboxContent: hashes of the data that the last window of packets wrote to a QP's mailbox. Its key is no secret, so
// a packet that arrives again is compared with its first copy [MRC-SEC-3].
#pragma once

#include <cstdint>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "invariant.h"
#include "wire/packet.h"

namespace mrc::core {

class MailboxContent {
 public:
  void reset() { kept_.clear(); }
  // Room for a window of packets, a power of two. Throws std::bad_alloc.
  void allocate(uint32_t packets) {
    if (kept_.empty()) kept_.resize(packets);
  }
  void keep(const wire::Packet& p, uint64_t seq) { kept_[seq & (kept_.size() - 1)] = content_of(p, seq); }
  // False: that packet has written other data before.
  bool same(const wire::Packet& p, uint64_t seq) const {
    if (p.payload_len == 0 || kept_.empty()) return true;
    const uint64_t kept = kept_[seq & (kept_.size() - 1)];
    return kept >> 32 != (seq & UINT32_MAX) || kept == content_of(p, seq);
  }
  void check() const { MRC_INVARIANT((kept_.size() & (kept_.size() - 1)) == 0); }

 private:
  // The packet's number and a hash.
  static uint64_t content_of(const wire::Packet& p, uint64_t seq) {
    const absl::string_view bytes(reinterpret_cast<const char*>(p.payload), p.payload_len);
    return seq << 32 | static_cast<uint32_t>(absl::HashOf(bytes));
  }

  std::vector<uint64_t> kept_;
};

}  // namespace mrc::core
