// The settings that are words (settings.h): for each of them the enum that code uses and the word that people write,
// declared once. No code compares the words themselves: a misspelt one would be a branch never taken.
//
// Enums of lower layers keep their definitions there and get only their words here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "log_level.h"

namespace mrc::core {
enum class Placement : uint8_t;
}  // namespace mrc::core

namespace mrc::datapath {
enum class Offload : uint8_t;
enum class RawIo : uint8_t;
enum class Srv6Encap : uint8_t;
}  // namespace mrc::datapath

namespace mrc::device {

using mrc::LogLevel;  // MRC_WORDS_LOG_LEVEL is in log_level.h

// W(enumerator, "word"), in the order in which messages list the words.
#define MRC_WORDS_DATAPATH_KIND(W) W(kUdp, "udp") W(kRaw, "raw") W(kDpdk, "dpdk")
#define MRC_WORDS_SAME_HOST(W) W(kMemory, "memory") W(kNetwork, "network")
#define MRC_WORDS_EV_MODE(W) W(kUdpPort, "udp_port") W(kStructured, "structured") W(kSrv6, "srv6")
#define MRC_WORDS_PATH_MTU(W) \
  W(k256, "256") W(k512, "512") W(k1024, "1024") W(k2048, "2048") W(k4096, "4096") W(k8192, "8192")
#define MRC_WORDS_PLACEMENT(W) W(kAuto, "auto") W(kArrival, "arrival") W(kInOrder, "in_order")
#define MRC_WORDS_OFFLOAD(W) W(kAuto, "auto") W(kOn, "on") W(kOff, "off")
#define MRC_WORDS_SRV6_ENCAP(W) W(kNone, "none") W(kKernel, "kernel")
#define MRC_WORDS_RAW_IO(W) W(kAuto, "auto") W(kXdp, "xdp") W(kPacket, "packet")

#define MRC_WORD_ENUMERATOR(enumerator, word) enumerator,
enum class DatapathKind : uint8_t { MRC_WORDS_DATAPATH_KIND(MRC_WORD_ENUMERATOR) };
enum class SameHost : uint8_t { MRC_WORDS_SAME_HOST(MRC_WORD_ENUMERATOR) };
enum class EvMode : uint8_t { MRC_WORDS_EV_MODE(MRC_WORD_ENUMERATOR) };
enum class PathMtu : uint8_t { MRC_WORDS_PATH_MTU(MRC_WORD_ENUMERATOR) };
#undef MRC_WORD_ENUMERATOR

// The words of an enum, by value.
template <typename E>
inline constexpr auto words_of = nullptr;
#define MRC_WORD_TEXT(enumerator, word) word,
#define MRC_WORDS_OF(type, words) \
  template <>                     \
  inline constexpr auto words_of<type> = std::to_array<const char*>({words(MRC_WORD_TEXT)});
MRC_WORDS_OF(LogLevel, MRC_WORDS_LOG_LEVEL)
MRC_WORDS_OF(DatapathKind, MRC_WORDS_DATAPATH_KIND)
MRC_WORDS_OF(SameHost, MRC_WORDS_SAME_HOST)
MRC_WORDS_OF(EvMode, MRC_WORDS_EV_MODE)
MRC_WORDS_OF(PathMtu, MRC_WORDS_PATH_MTU)
MRC_WORDS_OF(core::Placement, MRC_WORDS_PLACEMENT)
MRC_WORDS_OF(datapath::Offload, MRC_WORDS_OFFLOAD)
MRC_WORDS_OF(datapath::RawIo, MRC_WORDS_RAW_IO)
MRC_WORDS_OF(datapath::Srv6Encap, MRC_WORDS_SRV6_ENCAP)
#undef MRC_WORDS_OF
#undef MRC_WORD_TEXT

template <typename E>
constexpr const char* word_of(E value) {
  return words_of<E>[static_cast<size_t>(value)];
}

// None: not a word of the enum.
template <typename E>
constexpr std::optional<E> value_of(std::string_view word) {
  for (size_t i = 0; i < words_of<E>.size(); ++i)
    if (word == words_of<E>[i]) return static_cast<E>(i);
  return std::nullopt;
}

constexpr uint32_t bytes_of(PathMtu mtu) {
  return 256u << static_cast<uint32_t>(mtu);
}
static_assert(bytes_of(PathMtu::k8192) == 8192);

}  // namespace mrc::device
