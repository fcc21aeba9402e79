// The TCP plugin's operations in the shapes of the ABI versions, and a table for each version made from them. Which
// shape a version has follows from the types of its own structure.
#pragma once

#include <type_traits>

#include "tcp_net.h"

namespace mrc::tcp_net {

inline ncclResult_t devices(int* n) {
  return *n = 1, ncclSuccess;
}
template <typename Props>
ncclResult_t properties(int device, Props* out) {
  if (device != 0) return ncclInvalidArgument;
  static char name[] = "tcp0";
  *out = {};
  out->name = name;
  out->guid = 1;
  out->ptrSupport = NCCL_PTR_HOST;
  out->speed = 10000;
  out->maxComms = 65536;
  out->maxRecvs = kMaxGroup;
  if constexpr (requires { out->regIsGlobal; }) out->regIsGlobal = 1;
  if constexpr (requires { out->netDeviceType; }) out->netDeviceType = NCCL_NET_DEVICE_HOST;
  if constexpr (requires { out->maxP2pBytes; }) out->maxP2pBytes = out->maxCollBytes = 1 << 30;
  if constexpr (requires { out->vProps; }) out->vProps.ndevs = 1;
  if constexpr (requires { out->maxMultiRequestSize; }) out->maxMultiRequestSize = 1;
  if constexpr (requires { out->railId; }) out->railId = out->planeId = NCCL_NET_ID_UNDEF;
  return ncclSuccess;
}
inline ncclResult_t dereg(void*, void*) {
  return ncclSuccess;
}
inline ncclResult_t flush(void*, int, void**, int*, void**, void** request) {
  return *request = nullptr, ncclSuccess;
}
inline ncclResult_t no_dma_buf(void*, void*, size_t, int, uint64_t, int, void**) {
  return ncclInvalidUsage;
}
template <typename... Args>
ncclResult_t refuse(Args...) {
  return ncclInvalidUsage;
}
template <typename... Args>
ncclResult_t accept_all(Args...) {
  return ncclSuccess;
}
// Assigns a function that refuses or accepts any arguments.
template <typename... Args>
void set_refuse(ncclResult_t (*&slot)(Args...)) {
  slot = refuse<Args...>;
}
template <typename... Args>
void set_accept(ncclResult_t (*&slot)(Args...)) {
  slot = accept_all<Args...>;
}

template <typename Size>
ncclResult_t reg(void*, void*, Size, int type, void** memory) {
  static int token;
  return *memory = &token, type == NCCL_PTR_HOST ? ncclSuccess : ncclInvalidUsage;
}
template <typename Size>
ncclResult_t irecv_sized(void* comm, int n, void** data, Size* sizes, int* tags, void** request) {
  uint64_t wide[kMaxGroup] = {};
  for (int i = 0; i < n && i < kMaxGroup; ++i) wide[i] = static_cast<uint64_t>(sizes[i]);
  return irecv(comm, n, data, wide, tags, request);
}

template <int kVersion, typename Table, typename Props>
Table make_table() {
  using DeviceHandle = ncclNetDeviceHandle_v7_t;
  using Size = std::conditional_t<(kVersion >= 9), size_t, int>;
  Table t{};
  t.name = kName;
  t.devices = devices;
  t.getProperties = properties<Props>;
  t.regMr = reg<std::conditional_t<(kVersion >= 8), size_t, int>>;
  t.regMrDmaBuf = no_dma_buf;
  t.deregMr = dereg;
  t.iflush = flush;
  t.test = test;
  t.closeSend = t.closeRecv = close;
  t.closeListen = close_listen;
  if constexpr (kVersion >= 11) {
    t.init = [](void** context, uint64_t, auto*, ncclDebugLogger_t, ncclProfilerCallback_t) {
      static int token;
      return *context = &token, ncclSuccess;
    };
    t.listen = [](void*, int device, void* handle, void** comm) { return listen(device, handle, comm); };
    t.connect = [](void*, int device, void* handle, void** comm, DeviceHandle**) {
      return connect(device, handle, comm);
    };
    set_accept(t.finalize);
    set_accept(t.setNetAttr);
  } else {
    set_accept(t.init);
    t.listen = listen;
    if constexpr (kVersion == 10)
      t.connect = [](int device, auto*, void* handle, void** comm, DeviceHandle**) {
        return connect(device, handle, comm);
      };
    else if constexpr (kVersion >= 7)
      t.connect = [](int device, void* handle, void** comm, DeviceHandle**) { return connect(device, handle, comm); };
    else
      t.connect = connect;
  }
  if constexpr (kVersion >= 7) {
    t.accept = [](void* listen_comm, void** comm, DeviceHandle**) { return accept(listen_comm, comm); };
    // getDeviceMr and irecvConsumed stay null: there is no device side, and NCCL calls what is there.
  } else {
    t.accept = accept;
  }
  if constexpr (kVersion >= 10) {
    t.isend = [](void* c, void* data, Size size, int tag, void*, void*, void** r) {
      return isend(c, data, size, tag, r);
    };
    t.irecv = [](void* c, int n, void** data, Size* sizes, int* tags, void**, void**, void** r) {
      return irecv_sized(c, n, data, sizes, tags, r);
    };
  } else {
    t.isend = [](void* c, void* data, Size size, int tag, void*, void** r) {
      return isend(c, data, static_cast<uint64_t>(size), tag, r);
    };
    t.irecv = [](void* c, int n, void** data, Size* sizes, int* tags, void**, void** r) {
      return irecv_sized(c, n, data, sizes, tags, r);
    };
  }
  if constexpr (kVersion >= 9) set_refuse(t.makeVDevice);
  return t;
}

}  // namespace mrc::tcp_net
