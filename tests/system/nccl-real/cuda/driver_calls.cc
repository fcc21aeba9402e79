// The driver's entry points that NCCL looks up, the launch of its kernels among them.
#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda/abi.h"
#include "cuda/device.h"
#include "cuda/fatal.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "player/kernel.h"

namespace mrc::nccl_rig::cuda {

namespace {

Error get_error_string(Error error, const char** text) {
  *text = error == kSuccess ? "no error" : "CUDA driver error of the stand-in";
  return kSuccess;
}
Error device_get(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < device_count() ? kSuccess : kInvalidDevice;
}
Error device_get_attribute(int* value, int attribute, int device) {
  for (const Call& c : device_calls())
    if (strcmp(c.name, "cudaDeviceGetAttribute") == 0)
      return reinterpret_cast<Error (*)(int*, int, int)>(c.function)(value, attribute, device);
  return kInvalidValue;
}
// A context is the number of its device plus one.
Error ctx_get_current(void** context) {
  *context = reinterpret_cast<void*>(intptr_t{current_device()} + 1);
  return kSuccess;
}
Error ctx_set_current(void* context) {
  if (context != nullptr) set_current_device(static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1);
  return kSuccess;
}
Error ctx_get_device(int* device) {
  *device = current_device();
  return kSuccess;
}
Error mem_get_address_range(void** base, size_t* size, void* address) {
  Range range;
  if (!find(address, &range)) return kInvalidValue;
  if (base) *base = range.base;
  if (size) *size = range.size;
  return kSuccess;
}
// NCCL asks for allocation handles and synchronous copies; there are none of the former, all copies are the latter.
Error pointer_get_attribute(void* value, int, void*) {
  memset(value, 0, sizeof(int));
  return kSuccess;
}
Error allocation_granularity(size_t* granularity, const void*, int) {
  *granularity = 2u << 20;
  return kSuccess;
}
Error mem_create(void*, size_t, const void*, unsigned long long) {
  return kNotSupported;
}

// extra = {1 (buffer pointer), arguments, 2 (buffer size), &size, 0 (end)}
Error launch_kernel_ex(const LaunchConfig* config, void* function, void** parameters, void** extra) {
  if (parameters != nullptr || extra == nullptr || reinterpret_cast<intptr_t>(extra[0]) != 1 ||
      reinterpret_cast<intptr_t>(extra[2]) != 2)
    fatal("kernel launch with parameters of an unknown form");
  const auto* bytes = static_cast<const char*>(extra[1]);
  const std::vector<char> arguments(bytes, bytes + *static_cast<const size_t*>(extra[3]));
  Stream& stream = stream_of(config->stream);
  for (unsigned i = 0; i < config->attribute_count; ++i)
    if (config->attributes[i].id == kLaunchCompletionEvent)
      record(config->attributes[i].completion.event, config->stream);
  stream.queue([arguments, function, blocks = config->grid[0]] { player::run_kernel(arguments, function, blocks); });
  return kSuccess;
}

enum QueryResult { kFound = 0, kNotFound = 1 };
Error get_entry_point(const char* name, void** function, unsigned, unsigned long long, int* result) {
  *function = nullptr;
  for (const Call& c : driver_entry_points())
    if (strcmp(c.name, name) == 0) *function = c.function;
  if (result) *result = *function ? kFound : kNotFound;
  return kSuccess;
}

}  // namespace

std::span<const Call> driver_entry_points() {
  static const Call calls[] = {
      call("cuGetErrorString", get_error_string),
      call("cuGetErrorName", get_error_string),
      call("cuDeviceGet", device_get),
      call("cuDeviceGetAttribute", device_get_attribute),
      call("cuCtxGetCurrent", ctx_get_current),
      call("cuCtxSetCurrent", ctx_set_current),
      call("cuCtxGetDevice", ctx_get_device),
      call("cuMemGetAddressRange", mem_get_address_range),
      call("cuPointerGetAttribute", pointer_get_attribute),
      call("cuMemGetAllocationGranularity", allocation_granularity),
      call("cuMemCreate", mem_create),
      call("cuLaunchKernelEx", launch_kernel_ex),
  };
  return calls;
}

std::span<const Call> driver_calls() {
  static const Call calls[] = {call("cudaGetDriverEntryPointByVersion", get_entry_point)};
  return calls;
}

}  // namespace mrc::nccl_rig::cuda
