// A net plugin that is the MRC plugin (NCCL_RIG_WRAPPED) under one ABI version alone, so that NCCL uses that version;
// some builds change what the plugin says or does. Compiled with ABI=6 to 11, and CLAIM_CUDA, CORRUPT or DIE with the
// last one.
#include <dlfcn.h>
#include <net_abi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NET_TYPE JOIN(JOIN(ncclNet_v, ABI), _t)
#define NET_SYMBOL JOIN(ncclNetPlugin_v, ABI)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern "C" __attribute__((visibility("default"))) NET_TYPE NET_SYMBOL;
NET_TYPE NET_SYMBOL;

namespace {

NET_TYPE wrapped;

#ifdef CLAIM_CUDA
// Makes NCCL use GPUDirect RDMA: the stand-in's device memory is the host's, so the plugin may take it for such.
ncclResult_t get_properties(int device, ncclNetProperties_v11_t* properties) {
  const ncclResult_t result = wrapped.getProperties(device, properties);
  properties->ptrSupport |= NCCL_PTR_CUDA;
  return result;
}
ncclResult_t register_memory(void* comm, void* data, size_t size, int, void** handle) {
  return wrapped.regMr(comm, data, size, NCCL_PTR_HOST, handle);
}
#endif
#ifdef CORRUPT
// One byte of every larger message, so that the comparison of results is seen to find it.
ncclResult_t send(void* comm, void* data, size_t size, int tag, void* memory, void* own, void** request) {
  if (size > 1000) static_cast<char*>(data)[900] = 1;
  return wrapped.isend(comm, data, size, tag, memory, own, request);
}
#endif
#ifdef DIE
// The process is killed in the call that NCCL_RIG_DIES_IN names, as soon as NCCL_RIG_DIES is set: before the call,
// after a first one that has begun the connection, or when the connection stands.
void dies_in(const char* moment) {
  const char* in = getenv("NCCL_RIG_DIES_IN");
  if (getenv("NCCL_RIG_DIES") != nullptr && in != nullptr && strcmp(in, moment) == 0) kill(getpid(), SIGKILL);
}
ncclResult_t listen(void* context, int device, void* handle, void** comm) {
  dies_in("listen");
  const ncclResult_t result = wrapped.listen(context, device, handle, comm);
  dies_in("listening");
  return result;
}
ncclResult_t connect(void* context, int device, void* handle, void** comm, ncclNetDeviceHandle_v11_t** on_device) {
  dies_in("connect");
  const ncclResult_t result = wrapped.connect(context, device, handle, comm, on_device);
  dies_in(*comm != nullptr ? "connected" : "connecting");
  return result;
}
ncclResult_t accept(void* listener, void** comm, ncclNetDeviceHandle_v11_t** on_device) {
  dies_in("accept");
  const ncclResult_t result = wrapped.accept(listener, comm, on_device);
  if (*comm != nullptr) dies_in("accepted");
  return result;
}
#endif

__attribute__((constructor)) void wrap() {
  const char* path = getenv("NCCL_RIG_WRAPPED");
  void* handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  void* symbol = handle ? dlsym(handle, TEXT(NET_SYMBOL)) : nullptr;
  if (symbol == nullptr) {
    fprintf(stderr, "no %s in NCCL_RIG_WRAPPED (%s)\n", TEXT(NET_SYMBOL), path ? path : "not set");
    return;
  }
  wrapped = *static_cast<NET_TYPE*>(symbol);
  NET_SYMBOL = wrapped;
#ifdef CLAIM_CUDA
  NET_SYMBOL.getProperties = get_properties;
  NET_SYMBOL.regMr = register_memory;
#endif
#ifdef CORRUPT
  NET_SYMBOL.isend = send;
#endif
#ifdef DIE
  NET_SYMBOL.listen = listen;
  NET_SYMBOL.connect = connect;
  NET_SYMBOL.accept = accept;
#endif
}

}  // namespace
