// See text.h. The format of each field is in the field tables. Names of errors are here too, so that decoding
// contains no strings.
#include "wire/text.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <string_view>
#include <type_traits>

namespace mrc::wire {
namespace {

__attribute__((format(printf, 2, 3))) void append(std::string* s, const char* format, ...) {
  char buffer[256];
  va_list args;
  va_start(args, format);
  const int n = std::vsnprintf(buffer, sizeof(buffer), format, args);
  va_end(args);
  if (n > 0) s->append(buffer, std::min(static_cast<size_t>(n), sizeof(buffer) - 1));
}

// " name=value" in the form given by the field's row.
template <typename T>
void append_value(std::string* s, const FieldRow& r, const T& value) {
  if (r.text == nullptr) return;
  append(s, " %s=", r.text);
  if constexpr (std::is_same_v<T, IpAddress>) {
    s->append(value.to_string());
  } else if constexpr (kIsArray<T>) {  // up to the first 0
    for (size_t i = 0; i < value.size() && value[i] != 0; ++i) append(s, i == 0 ? "%u" : ",%u", value[i]);
  } else if constexpr (std::is_same_v<T, int16_t>) {
    append(s, "%d", value);
  } else {
    const uint64_t bits = to_bits(value);
    const int digits = (r.width + 3) / 4;
    switch (r.show) {
      case Show::kDecimal:
        append(s, "%" PRIu64, bits);
        break;
      case Show::kHex:
        append(s, "0x%0*" PRIx64, digits, bits);
        break;
      case Show::kShortHex:
        append(s, "0x%" PRIx64, bits);
        break;
      case Show::kName:
        s->append(r.names->name_of(bits));
        break;
      case Show::kNameAndHex:
        append(s, "%s(0x%0*" PRIx64 ")", r.names->name_of(bits), digits, bits);
        break;
    }
  }
}

template <typename Header>
void append_header(std::string* s, const Header& h) {
  for_each_field(h, [&](const FieldRow& r, const auto& value) { append_value(s, r, value); });
}

// Not in the order of the bytes: the distinguishing fields come first.
void append_bth(std::string* s, const Bth& b) {
  s->append(opcode_name(b.opcode));
  for (const std::string_view name : {"dqp", "psn", "ack_req", "rtx", "ts", "pad", "pkey"})
    for_each_field(b, [&](const FieldRow& r, const auto& value) {
      if (name == r.name) append_value(s, r, value);
    });
}

void append_request(std::string* s, const Packet& p) {
  append_header(s, p.meth);
  if (p.bth.ts) append_header(s, p.tseth);
  if (p.trimmed) return;
  append_header(s, p.req.reth);
  if (with_imm(p.bth.opcode)) append_header(s, p.req.imm);
  append(s, " payload=%u", p.payload_len);
}

void append_datagram(std::string* s, const Packet& p) {
  if (p.bth.solicited) s->append(" se=1");
  append_header(s, p.ud.deth);
  if (with_imm(p.bth.opcode)) append_header(s, p.ud.imm);
  append(s, " payload=%u", p.payload_len);
}

void append_control(std::string* s, const Packet& p) {
  for_each_control_header(p, [&](const auto& header) { append_header(s, header); });
}

// "short SETH".
template <typename Header>
constexpr auto kShortText = [] {
  constexpr std::string_view before = "short ", name = Header::kInfo.name;
  std::array<char, before.size() + name.size() + 1> text{};
  std::copy(name.begin(), name.end(), std::copy(before.begin(), before.end(), text.begin()));
  return text;
}();

}  // namespace

const char* decode_error_name(DecodeError e) {
  switch (e) {
    case DecodeError::kOk:
      return "ok";
#define MRC_HEADER_CASE(Header)     \
  case DecodeError::kShort##Header: \
    return kShortText<Header>.data();
      MRC_HEADERS(MRC_HEADER_CASE)
#undef MRC_HEADER_CASE
    case DecodeError::kBadTver:
      return "transport version not 0";
    case DecodeError::kUnknownOpcode:
      return "unknown opcode";
    case DecodeError::kShortIcrc:
      return "no ICRC";
    case DecodeError::kBadPad:
      return "pad count does not fit";
    case DecodeError::kBadPayload:
      return "payload length contradicts opcode or RETH";
    case DecodeError::kTrailingBytes:
      return "bytes behind a control header";
    case DecodeError::kBadQpn:
      return "endpoint operation to an ordinary QPN";
    case DecodeError::kNotRequest:
      return "trimmed packet is no request";
  }
  return "unknown";
}

std::string to_text(const Packet& packet) {
  std::string s;
  append_bth(&s, packet.bth);
  if (is_request(packet.bth.opcode)) {
    append_request(&s, packet);
  } else if (is_datagram(packet.bth.opcode)) {
    append_datagram(&s, packet);
  } else if (!packet.trimmed) {
    append_control(&s, packet);
  }
  if (packet.trimmed) s += " trimmed";
  return s;
}

std::string bytes_to_text(std::span<const uint8_t> bytes) {
  Packet packet;
  const DecodeError e = decode(bytes, &packet);
  if (e == DecodeError::kOk) return to_text(packet);
  std::string s = "undecodable (";
  s += decode_error_name(e);
  append(&s, ") length=%zu bytes=", bytes.size());
  for (const uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 64))) append(&s, "%02x", byte);
  return s;
}

std::string ev_text(uint32_t ev) {
  char text[32];
  if (ev >> 16 == 0)
    std::snprintf(text, sizeof text, "%u", ev);
  else
    std::snprintf(text, sizeof text, "0x%04x:%u", ev >> 16, ev & 0xFFFF);
  return text;
}

}  // namespace mrc::wire
