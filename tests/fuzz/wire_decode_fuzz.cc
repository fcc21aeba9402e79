// Any UDP payload: decoding reads nothing outside, and what it accepts encodes to the same bytes again except for the
// bits that are ignored on receipt [MRC-WIRE-1] [MRC-WIRE-6]. Text and ICRC must survive the same bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/text.h"

namespace {

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::vector<uint8_t> encode(const mrc::wire::Packet& packet, size_t size) {
  std::vector<uint8_t> out(size);
  require(mrc::wire::encode_packet(out, packet) + mrc::wire::kIcrcBytes == size, "encoded length differs");
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mrc::wire;
  const uint32_t len = static_cast<uint32_t>(size);
  require(!bytes_to_text({data, len}).empty(), "no text");
  (void)icrc_check(Flow{}, {data, len});
  Packet first;
  if (decode({data, len}, &first) != DecodeError::kOk) return 0;
  // The padding of an endpoint request is no part of what is decoded [MRC-EVP-6..7].
  const uint32_t bare = packet_bytes(first.bth.opcode, first.bth.ts, first.payload_len);
  require(bare == len || (first.bth.opcode == Opcode::kEndpointRequest && bare < len), "length computed differs");
  std::vector<uint8_t> once = encode(first, bare);
  Packet second;
  require(decode({once.data(), bare}, &second) == DecodeError::kOk, "own encoding is refused");
  require(encode(second, bare) == once, "second encoding differs");
  require(to_text(first) == to_text(second), "text differs");
  icrc_store(once.data() + bare - kIcrcBytes, icrc_compute(Flow{}, {once.data(), bare}));
  require(icrc_check(Flow{}, {once.data(), bare}), "own ICRC is refused");
  return 0;
}
