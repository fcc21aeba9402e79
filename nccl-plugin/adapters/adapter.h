// Common parts of the adapters: the plugin's operations with the signatures of the ABI versions. Versions differ in
// the type of sizes (int up to 8, size_t from 9 on), in the members of the properties, and in arguments added
// later. Each vN.cc assembles the table of its version; the code here is independent of versions.
//
// getDeviceMr and irecvConsumed are null in every table. They are for networks with a device side, but NCCL (2.28.9)
// calls irecvConsumed for each receive wherever it is not null, and treats a refusal as the end of the communicator.
#pragma once

#include <cstdint>
#include <type_traits>

#include "net_abi/copy_properties.h"
#include "plugin.h"

#define MRC_NET_EXPORT extern "C" __attribute__((visibility("default")))

namespace mrc::nccl {

// Properties of any version: members that it lacks are left out.
template <typename Props>
ncclResult_t get_properties(int number, Props* out) {
  ncclNetProperties_t all;
  if (const ncclResult_t result = properties(number, &all); result != ncclSuccess) return result;
  *out = {};
  copy_properties(all, out);
  if constexpr (requires { out->vProps; }) {
    constexpr int max = sizeof out->vProps.devs / sizeof out->vProps.devs[0];
    out->vProps.ndevs = all.vProps.ndevs < max ? all.vProps.ndevs : max;
    for (int i = 0; i < out->vProps.ndevs; ++i) out->vProps.devs[i] = all.vProps.devs[i];
  }
  return ncclSuccess;
}

template <typename Props>
ncclResult_t make_vdevice(int* number, Props* props) {
  constexpr int max = sizeof props->devs / sizeof props->devs[0];
  if (props->ndevs > max) return ncclInvalidUsage;
  return make_virtual(number, props->devs, props->ndevs);
}

inline ncclResult_t listen_plain(int number, void* handle, void** comm) {
  return listen(nullptr, number, handle, comm);
}

// A device handle stays NULL: there is no device side.
inline ncclResult_t connect_plain(int number, void* handle, void** comm) {
  return connect(nullptr, number, NCCL_NET_TRAFFIC_CLASS_UNDEF, handle, comm);
}
template <typename DeviceHandle>
ncclResult_t connect_device(int number, void* handle, void** comm, DeviceHandle** device) {
  if (device != nullptr) *device = nullptr;
  return connect_plain(number, handle, comm);
}
template <typename DeviceHandle>
ncclResult_t connect_context(void* context, int number, void* handle, void** comm, DeviceHandle** device) {
  if (device != nullptr) *device = nullptr;
  return connect(context, number, NCCL_NET_TRAFFIC_CLASS_UNDEF, handle, comm);
}
template <typename DeviceHandle>
ncclResult_t accept_device(void* listen_comm, void** comm, DeviceHandle** device) {
  if (device != nullptr) *device = nullptr;
  return accept(listen_comm, comm);
}

template <typename Size>
bool negative([[maybe_unused]] Size size) {
  if constexpr (std::is_signed_v<Size>) return size < 0;
  return false;
}

template <typename Size>
ncclResult_t reg_mr(void* comm, void* data, Size size, int type, void** handle) {
  if (negative(size)) return ncclInvalidArgument;
  return register_memory(comm, data, static_cast<uint64_t>(size), type, handle);
}
inline ncclResult_t reg_dma_buf(void* comm, void* data, size_t size, int type, uint64_t offset, int fd, void** handle) {
  return register_dma_buf(comm, data, size, type, offset, fd, handle);
}
inline ncclResult_t dereg_mr(void*, void* handle) {
  return deregister_memory(handle);
}

template <typename Size>
ncclResult_t send_plain(void* comm, void* data, Size size, int tag, void* memory, void** request) {
  if (negative(size)) return ncclInvalidArgument;
  return isend(comm, data, static_cast<uint64_t>(size), tag, memory, nullptr, request);
}
template <typename Size>
ncclResult_t recv_profiles(void* comm, int n, void** data, Size* sizes, int* tags, void** memory, void** profiles,
                           void** request) {
  constexpr int max = 8;
  uint64_t wide[max] = {};
  for (int i = 0; i < n && i < max; ++i) {
    if (negative(sizes[i])) return ncclInvalidArgument;
    wide[i] = static_cast<uint64_t>(sizes[i]);
  }
  return irecv(comm, n, data, wide, tags, memory, profiles, request);
}
template <typename Size>
ncclResult_t recv_plain(void* comm, int n, void** data, Size* sizes, int* tags, void** memory, void** request) {
  return recv_profiles<Size>(comm, n, data, sizes, tags, memory, nullptr, request);
}
inline ncclResult_t send_profiled(void* comm, void* data, size_t size, int tag, void* memory, void* profile,
                                  void** request) {
  return isend(comm, data, size, tag, memory, profile, request);
}
inline ncclResult_t recv_profiled(void* comm, int n, void** data, size_t* sizes, int* tags, void** memory,
                                  void** profiles, void** request) {
  return recv_profiles<size_t>(comm, n, data, sizes, tags, memory, profiles, request);
}
inline ncclResult_t flush(void*, int n, void** data, int* sizes, void** memory, void** request) {
  return iflush(n, data, sizes, memory, request);
}

template <typename Config>
ncclResult_t init_with_context(void** context, uint64_t, Config* config, ncclDebugLogger_t logger,
                               ncclProfilerCallback_t profiler) {
  use_profiler(profiler);
  return init_context(context, config != nullptr ? config->trafficClass : NCCL_NET_TRAFFIC_CLASS_UNDEF, logger);
}
template <typename Attributes>
ncclResult_t set_net_attr(void* context, Attributes* attributes) {
  if (attributes == nullptr) return ncclInvalidArgument;
  ncclNetAttr_t wide{};
  wide.sendCommAttr.maxConcurrentPeers = attributes->sendCommAttr.maxConcurrentPeers;
  wide.sendCommAttr.maxFlowsPerPeer = attributes->sendCommAttr.maxFlowsPerPeer;
  wide.recvCommAttr.maxConcurrentPeers = attributes->recvCommAttr.maxConcurrentPeers;
  wide.recvCommAttr.maxFlowsPerPeer = attributes->recvCommAttr.maxFlowsPerPeer;
  return set_attributes(context, wide);
}

}  // namespace mrc::nccl
