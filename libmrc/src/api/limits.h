// Limits of the software device that no setting changes, as reported by verbs and mrc_query_device.
#pragma once

#include <cstdint>

namespace mrc::api {

inline constexpr int kMaxQpWr = 32768;
inline constexpr int kMaxSge = 16;
inline constexpr int kMaxInline =
    1024;  // bytes per request; once one has inline data, every slot has memory for the requested number
inline constexpr int kMaxCqe = 1 << 22;
inline constexpr int kCompVectors = 1;
inline constexpr int kPkeys = 1;
inline constexpr uint16_t kDefaultPkey = 0xFFFF;
inline constexpr uint32_t kMaxQpHints = 65536;
inline constexpr uint8_t kMaxMpr = 255;  // units of 128 PSNs [MRC-CHOICE-Q26]
inline constexpr uint16_t kMaxWimm = 1024;
inline constexpr uint32_t kMaxMessage = 1u << 30;
inline constexpr int kMaxMr = 1 << 24;
inline constexpr int kMaxPd = 1 << 20;
inline constexpr int kMaxCq = 1 << 20;

}  // namespace mrc::api
