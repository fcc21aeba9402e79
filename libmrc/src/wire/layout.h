// The headers that follow BTH, by opcode, and the resulting sizes [MRC-BTH-1, MRC-EXT-1, MRC-UD-1, spec/wire.md].
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "wire/aeth.h"
#include "wire/bth.h"
#include "wire/cc_state.h"
#include "wire/deth.h"
#include "wire/eeth.h"
#include "wire/erth.h"
#include "wire/immdt.h"
#include "wire/meth.h"
#include "wire/neth.h"
#include "wire/opcodes.h"
#include "wire/peth.h"
#include "wire/plth.h"
#include "wire/reth.h"
#include "wire/seth.h"
#include "wire/spth.h"
#include "wire/tseth.h"

namespace mrc::wire {

// Every header. Decoding has an error for each (DecodeError), the specification and the dissector a table of its
// fields.
#define MRC_HEADERS(H) \
  H(Bth)               \
  H(Meth) H(Tseth) H(Reth) H(ImmDt) H(Aeth) H(Seth) H(CcState) H(Neth) H(Peth) H(Erth) H(Eeth) H(Plth) H(Spth) H(Deth)

// Calls visit.template operator()<Header>() for each of them.
template <typename Visit>
constexpr void for_each_header(Visit visit) {
#define MRC_HEADER_VISIT(Header) visit.template operator()<Header>();
  MRC_HEADERS(MRC_HEADER_VISIT)
#undef MRC_HEADER_VISIT
}

// Headers behind BTH, in order. TSETH is present only with BTH.ts, and an SPTH follows a PLTH whose `ports` is set.
struct OpcodeLayout {
  Opcode opcode;
  const char* title;
  std::array<HeaderInfo, 4> headers;  // those of size 0 are none
};
inline constexpr OpcodeLayout kLayouts[] = {
    {Opcode::kDatagram, "UD SEND Only (RoCEv2)", {Deth::kInfo}},
    {Opcode::kDatagramImm, "UD SEND Only with Immediate (RoCEv2)", {Deth::kInfo, ImmDt::kInfo}},
    {Opcode::kWriteFirst, "WRITE First", {Meth::kInfo, Tseth::kInfo, Reth::kInfo}},
    {Opcode::kWriteMiddle, "WRITE Middle", {Meth::kInfo, Tseth::kInfo, Reth::kInfo}},
    {Opcode::kWriteLast, "WRITE Last", {Meth::kInfo, Tseth::kInfo, Reth::kInfo}},
    {Opcode::kWriteLastImm, "WRITE Last with Immediate", {Meth::kInfo, Tseth::kInfo, Reth::kInfo, ImmDt::kInfo}},
    {Opcode::kWriteOnly, "WRITE Only", {Meth::kInfo, Tseth::kInfo, Reth::kInfo}},
    {Opcode::kWriteOnlyImm, "WRITE Only with Immediate", {Meth::kInfo, Tseth::kInfo, Reth::kInfo, ImmDt::kInfo}},
    {Opcode::kAck, "Acknowledge (transport ACK or NAK)", {Aeth::kInfo}},
    {Opcode::kEndpointRequest, "Endpoint Request", {Erth::kInfo}},
    {Opcode::kEndpointResponse, "Endpoint Response", {Eeth::kInfo}},
    {Opcode::kPlaneRequest, "Plane Request (extension)", {Plth::kInfo}},
    {Opcode::kPlaneResponse, "Plane Response (extension)", {Plth::kInfo}},
    {Opcode::kSack, "Reliability SACK", {Seth::kInfo, CcState::kInfo}},
    {Opcode::kNack, "Reliability NACK", {Neth::kInfo}},
    {Opcode::kProbe, "Reliability Probe Request", {Peth::kInfo}},
};

static_assert(
    [] {  // in the order of MRC_OPCODES, none left out
      for (size_t i = 0; i < std::size(kOpcodeList); ++i)
        if (i >= std::size(kLayouts) || kOpcodeList[i].first != static_cast<uint64_t>(kLayouts[i].opcode)) return false;
      return std::size(kLayouts) == std::size(kOpcodeList);
    }(),
    "kLayouts has a line for each of MRC_OPCODES");

// Bytes of all headers by opcode, without and with BTH.ts; 0 for unknown opcodes.
inline constexpr auto kHeaderBytes = [] {
  std::array<std::array<uint8_t, 256>, 2> bytes{};
  for (const OpcodeLayout& layout : kLayouts)
    for (const bool ts : {false, true}) {
      uint32_t n = Bth::kSize;
      for (const HeaderInfo& h : layout.headers) n += h.only_with_ts && !ts ? 0 : h.size;
      bytes[ts][static_cast<uint8_t>(layout.opcode)] = static_cast<uint8_t>(n);
    }
  return bytes;
}();

// Bytes of all headers, BTH included, without payload, pad and ICRC; 0 for an unknown opcode. `ts` (BTH.ts) counts on
// requests only [MRC-BTH-6].
constexpr uint32_t header_bytes(Opcode op, bool ts) {
  return kHeaderBytes[ts][static_cast<uint8_t>(op)];
}

constexpr uint32_t kMaxHeaderBytes = std::max(*std::max_element(kHeaderBytes[0].begin(), kHeaderBytes[0].end()),
                                              *std::max_element(kHeaderBytes[1].begin(), kHeaderBytes[1].end()));

}  // namespace mrc::wire
