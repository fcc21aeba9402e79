// Any bytes as a trimmed packet: nothing is read outside, the header fields that survive are those that whole
// decoding finds, and the bytes behind them do not matter [MRC-CHOICE-Q24].
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "wire/packet.h"
#include "wire/text.h"

namespace {

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mrc::wire;
  const uint32_t len = static_cast<uint32_t>(size);
  Packet packet;
  if (decode_trimmed({data, len}, &packet) != DecodeError::kOk) return 0;
  require(packet.trimmed && packet.payload == nullptr && packet.payload_len == 0, "trimmed packet with payload");
  const std::string text = to_text(packet);
  const bool request = is_request(packet.bth.opcode);
  const uint32_t needed = Bth::kSize + (request ? Meth::kSize : 0) + (request && packet.bth.ts ? Tseth::kSize : 0);
  require(needed <= len, "accepted too few bytes");
  Packet shortest;
  require(decode_trimmed({data, needed}, &shortest) == DecodeError::kOk, "shortest form is refused");
  require(to_text(shortest) == text, "shortest form differs");
  require(decode_trimmed({data, needed - 1}, &shortest) != DecodeError::kOk, "accepted a cut header");
  Packet whole;
  if (decode({data, len}, &whole) == DecodeError::kOk && request) {
    require(whole.bth.psn == packet.bth.psn && whole.meth.msn == packet.meth.msn, "fields differ from whole decoding");
  }
  return 0;
}
