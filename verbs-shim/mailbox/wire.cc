#include "mailbox/wire.h"

namespace mrc::shim {

void put32(uint8_t* out, uint32_t value) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<uint8_t>(value >> (8 * i));
}

void put64(uint8_t* out, uint64_t value) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint32_t get32(const uint8_t* in) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(in[i]) << (8 * i);
  return value;
}

uint64_t get64(const uint8_t* in) {
  return get32(in) | static_cast<uint64_t>(get32(in + 4)) << 32;
}

// Offsets: note 0, flags 1, segments 2, number 4, length 8, immediate 12, remote address 16, rkey 24, reply PSN 28,
// operand 32, swap 40, confirmed 48, (52..63 zero).
void encode(const Request& r, uint8_t* out) {
  out[0] = static_cast<uint8_t>(r.note);
  out[1] = r.flags;
  out[2] = static_cast<uint8_t>(r.segments);
  out[3] = static_cast<uint8_t>(r.segments >> 8);
  put32(out + 4, r.number);
  put32(out + 8, r.length);
  put32(out + 12, r.immediate);
  put64(out + 16, r.remote_addr);
  put32(out + 24, r.rkey);
  put32(out + 28, r.reply_psn);
  put64(out + 32, r.operand);
  put64(out + 40, r.swap);
  put32(out + 48, r.confirmed);
  put32(out + 52, 0);
  put64(out + 56, 0);
}

Request decode_request(const uint8_t* in) {
  Request r;
  r.note = static_cast<Note>(in[0]);
  r.flags = in[1];
  r.segments = static_cast<uint16_t>(in[2] | in[3] << 8);
  r.number = get32(in + 4);
  r.length = get32(in + 8);
  r.immediate = get32(in + 12);
  r.remote_addr = get64(in + 16);
  r.rkey = get32(in + 24);
  r.reply_psn = get32(in + 28);
  r.operand = get64(in + 32);
  r.swap = get64(in + 40);
  r.confirmed = get32(in + 48) & kNumberMask;
  return r;
}

void encode_segments(const Segment* segments, uint32_t count, uint8_t* out) {
  for (uint32_t i = 0; i < count; ++i, out += kSegmentBytes) {
    put64(out, segments[i].addr);
    put32(out + 8, segments[i].key);
    put32(out + 12, segments[i].length);
  }
}

void decode_segments(const uint8_t* in, uint32_t count, Segment* segments) {
  for (uint32_t i = 0; i < count; ++i, in += kSegmentBytes) segments[i] = {get64(in), get32(in + 8), get32(in + 12)};
}

}  // namespace mrc::shim
