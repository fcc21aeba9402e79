// Devices and functions of the runtime.
#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda/abi.h"
#include "cuda/device.h"

namespace mrc::nccl_rig::cuda {

namespace {

int count = 1;
thread_local int current = 0;

Error get_device(int* device) {
  *device = current;
  return kSuccess;
}
Error set_device(int device) {
  if (device < 0 || device >= count) return kInvalidDevice;
  current = device;
  return kSuccess;
}
Error get_device_count(int* n) {
  *n = count;
  return kSuccess;
}
Error get_version(int* version) {
  *version = kVersion;
  return kSuccess;
}
Error get_pci_bus_id(char* id, int length, int device) {
  if (device < 0 || device >= count) return kInvalidDevice;
  snprintf(id, static_cast<size_t>(length), "%s", bus_id(device).c_str());
  return kSuccess;
}
Error get_by_pci_bus_id(int* device, const char* id) {
  *device = device_with_bus_id(id);
  return *device < 0 ? kInvalidDevice : kSuccess;
}

template <typename T>
void put(char* properties, size_t offset, T value) {
  memcpy(properties + offset, &value, sizeof value);
}
Error get_properties(char* properties, int device) {
  if (device < 0 || device >= count) return kInvalidDevice;
  memset(properties, 0, kPropertiesSize);
  strcpy(properties, "CPU stand-in");
  put(properties, kPropTotalMemory, size_t{16} << 30);
  put(properties, kPropSharedPerBlock, size_t{49152});
  put(properties, kPropWarpSize, 32);
  put(properties, kPropThreadsPerBlock, 1024);
  put(properties, kPropMajor, compute_major());
  put(properties, kPropMinor, 0);
  put(properties, kPropProcessors, kProcessors);
  put(properties, kPropMapHost, 1);
  put(properties, kPropPciBus, 10 + device);
  put(properties, kPropUnified, 1);
  put(properties, kPropSharedOptin, size_t{kSharedMemory});
  return kSuccess;
}
// 0 for the rest: no virtual memory management, no DMA-BUF.
Error get_attribute(int* value, int attribute, int device) {
  if (device < 0 || device >= count) return kInvalidDevice;
  switch (attribute) {
    case kComputeMajor:
      *value = compute_major();
      break;
    case kComputeMinor:
      *value = 0;
      break;
    case kMultiProcessors:
      *value = kProcessors;
      break;
    case kSharedOptin:
      *value = kSharedMemory;
      break;
    case kUnified:
      *value = 1;
      break;
    case kGdr:
      *value = getenv("NCCL_RIG_GDR") != nullptr ? 1 : 0;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}
Error set_limit(int, size_t) {
  return kSuccess;
}
// NCCL_RIG_P2P: devices of a process reach each other's memory, which is one address space here.
Error can_access_peer(int* can, int, int) {
  *can = getenv("NCCL_RIG_P2P") != nullptr ? 1 : 0;
  return kSuccess;
}
Error enable_peer_access(int, unsigned) {
  return kPeerAccessAlreadyEnabled;
}
const char* error_string(Error error) {
  static thread_local char text[32];
  snprintf(text, sizeof text, "CUDA error %d", error);
  return error == kSuccess ? "no error" : text;
}
Error last_error() {
  return kSuccess;
}

Error func_get_attributes(void* attributes, const void*) {
  memset(attributes, 0, kFuncAttributesSize);
  return kSuccess;
}
Error func_set_attribute(const void*, int, int) {
  return kSuccess;
}
// The address of the symbol serves as the function's handle.
Error get_func_by_symbol(const void** function, const void* symbol) {
  *function = symbol;
  return kSuccess;
}

}  // namespace

void set_device_count(int n) {
  count = n;
}
int device_count() {
  return count;
}
int compute_major() {
  const char* sm = getenv("NCCL_RIG_SM");
  return sm ? atoi(sm) / 10 : 8;
}
int current_device() {
  return current;
}
void set_current_device(int device) {
  current = device;
}

std::string bus_id(int device) {
  char id[24];
  snprintf(id, sizeof id, "0000:%02x:00.0", 10 + device);
  return id;
}

int device_with_bus_id(const char* id) {
  // NVML's form has a domain of 8 digits.
  const char* short_form = strlen(id) > 12 ? id + strlen(id) - 12 : id;
  for (int i = 0; i < count; ++i)
    if (strcasecmp(bus_id(i).c_str(), short_form) == 0) return i;
  return -1;
}

std::span<const Call> device_calls() {
  static const Call calls[] = {
      call("cudaGetDevice", get_device),
      call("cudaSetDevice", set_device),
      call("cudaGetDeviceCount", get_device_count),
      call("cudaDriverGetVersion", get_version),
      call("cudaRuntimeGetVersion", get_version),
      call("cudaDeviceGetPCIBusId", get_pci_bus_id),
      call("cudaDeviceGetByPCIBusId", get_by_pci_bus_id),
      call("cudaGetDeviceProperties", get_properties),
      call("cudaDeviceGetAttribute", get_attribute),
      call("cudaDeviceSetLimit", set_limit),
      call("cudaDeviceCanAccessPeer", can_access_peer),
      call("cudaDeviceEnablePeerAccess", enable_peer_access),
      call("cudaGetErrorString", error_string),
      call("cudaGetLastError", last_error),
      call("cudaFuncGetAttributes", func_get_attributes),
      call("cudaFuncSetAttribute", func_set_attribute),
      call("cudaGetFuncBySymbol", get_func_by_symbol),
  };
  return calls;
}

}  // namespace mrc::nccl_rig::cuda
