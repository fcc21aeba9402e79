// A net plugin that is the MRC plugin (NCCL_RIG_WRAPPED) under one ABI version alone, so that NCCL uses that version;
// some builds change what the plugin says or does. Compiled with ABI=6 to 11, and CLAIM_CUDA or CORRUPT with the last
// one.
#include <dlfcn.h>
#include <net_abi.h>

#include <cstdio>
#include <cstdlib>

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
}

}  // namespace
