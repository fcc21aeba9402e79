// libnvidia-ml.so.1 of the stand-in. NCCL opens it by this name and fails without; the rig links it, so that the loader
// has it already. No NVLink, no peer-to-peer. Handles are device numbers plus one.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNotFound = 6, kP2pOk = 0, kP2pUnknown = 5;
constexpr int kFirstBus = 10;  // as cuda/device.h

int devices() {
  const char* count = getenv("NCCL_RIG_DEVICES");
  return count ? atoi(count) : 1;
}
int index_of(void* device) {
  return static_cast<int>(reinterpret_cast<intptr_t>(device)) - 1;
}

}  // namespace

#define NVML extern "C" __attribute__((visibility("default"))) int
NVML nvmlInit() {
  return kSuccess;
}
NVML nvmlInit_v2() {
  return kSuccess;
}
NVML nvmlShutdown() {
  return kSuccess;
}
NVML nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(devices());
  return kSuccess;
}
NVML nvmlDeviceGetCount(unsigned* count) {
  return nvmlDeviceGetCount_v2(count);
}
NVML nvmlDeviceGetHandleByIndex(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(intptr_t{index} + 1);
  return static_cast<int>(index) < devices() ? kSuccess : kNotFound;
}
NVML nvmlDeviceGetHandleByPciBusId(const char* id, void** device) {
  const size_t length = strlen(id);
  if (length < 12) return kNotFound;
  const long bus = strtol(id + length - 7, nullptr, 16);  // "bb:dd.f"
  return nvmlDeviceGetHandleByIndex(static_cast<unsigned>(bus - kFirstBus), device);
}
NVML nvmlDeviceGetIndex(void* device, unsigned* index) {
  *index = static_cast<unsigned>(index_of(device));
  return kSuccess;
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int) {
  return "NVML error of the stand-in";
}
NVML nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  const char* sm = getenv("NCCL_RIG_SM");
  *major = sm ? atoi(sm) / 10 : 8;
  *minor = 0;
  return kSuccess;
}
NVML nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = getenv("NCCL_RIG_P2P") != nullptr ? kP2pOk : kP2pUnknown;
  return kSuccess;
}
NVML nvmlDeviceGetNvLinkState(void*, unsigned, int*) {
  return kNotSupported;
}
NVML nvmlDeviceGetNvLinkRemotePciInfo(void*, unsigned, void*) {
  return kNotSupported;
}
NVML nvmlDeviceGetNvLinkCapability(void*, unsigned, int, unsigned*) {
  return kNotSupported;
}
NVML nvmlDeviceGetFieldValues(void*, int, void*) {
  return kNotSupported;
}
