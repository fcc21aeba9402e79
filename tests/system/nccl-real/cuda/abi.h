// The part of the CUDA 13 runtime's and driver's binary interface that NCCL 2.28 uses: numbers and offsets, so that the
// rig builds where no CUDA is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrc::nccl_rig::cuda {

using Error = int;
constexpr Error kSuccess = 0;
constexpr Error kInvalidValue = 1;
constexpr Error kOutOfMemory = 2;
constexpr Error kInvalidDevice = 101;
constexpr Error kNotReady = 600;
constexpr Error kPeerAccessAlreadyEnabled = 704;
constexpr Error kNotSupported = 801;

constexpr int kVersion = 13000;
// Of the device that the stand-in claims to be.
constexpr int kProcessors = 108, kSharedMemory = 167936;

enum Attribute {
  kComputeMajor = 75,
  kComputeMinor = 76,
  kMultiProcessors = 16,
  kSharedOptin = 97,
  kUnified = 41,
  kGdr = 116
};
enum MemoryType { kUnregistered = 0, kHost = 1, kDevice = 2 };

struct PointerAttributes {
  int type, device;
  void *device_pointer, *host_pointer;
  long reserved[8];
};
static_assert(sizeof(PointerAttributes) == 88);

// cudaDeviceProp: 1008 bytes of which these are filled.
constexpr size_t kPropertiesSize = 1008;
constexpr size_t kPropTotalMemory = 288, kPropSharedPerBlock = 296, kPropWarpSize = 308, kPropThreadsPerBlock = 320,
                 kPropMajor = 360, kPropMinor = 364, kPropProcessors = 384, kPropMapHost = 392, kPropPciBus = 568,
                 kPropUnified = 588, kPropSharedOptin = 672;
constexpr size_t kFuncAttributesSize = 144;

struct LaunchAttribute {
  int id, pad;
  union {
    char bytes[64];
    struct {
      void* event;
      int flags;
    } completion;
  };
};
static_assert(sizeof(LaunchAttribute) == 72);
constexpr int kLaunchCompletionEvent = 12;

struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(offsetof(LaunchConfig, stream) == 32 && offsetof(LaunchConfig, attribute_count) == 48);

// A function of the runtime that the stand-in has.
struct Call {
  const char* name;
  void* function;
};
template <typename F>
Call call(const char* name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}
std::span<const Call> device_calls();
std::span<const Call> memory_calls();
std::span<const Call> stream_calls();
std::span<const Call> driver_calls();
// Of the driver, found by cudaGetDriverEntryPointByVersion.
std::span<const Call> driver_entry_points();

}  // namespace mrc::nccl_rig::cuda
