// A net plugin that is the MRC plugin (NCCL_RIG_WRAPPED) under one ABI version alone, so that NCCL uses that version;
// some builds change the plugin's answers or effects. Compiled with ABI=6 to 11, and CLAIM_CUDA, PCI, CORRUPT or DIE
// with the last one.
#include <dlfcn.h>
#include <net_abi.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
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

#ifdef PCI
// All devices are ports of the card at NCCL_RIG_PCI_PATH: NCCL joins them.
ncclResult_t get_properties(int device, ncclNetProperties_v11_t* properties) {
  const ncclResult_t result = wrapped.getProperties(device, properties);
  if (char* path = getenv("NCCL_RIG_PCI_PATH")) properties->pciPath = path;
  return result;
}
#endif
#ifdef CLAIM_CUDA
std::atomic<int> flushes, largest_group;
std::atomic<size_t> largest_region;
template <typename T>
void raise(std::atomic<T>* largest, T value) {
  for (T known = *largest; value > known && !largest->compare_exchange_weak(known, value);) continue;
}
// As a line of the rig's report.
__attribute__((destructor)) void report() {
  printf("\1# plugin: %d flushes, groups of up to %d receives, regions of up to %zu bytes\n", flushes.load(),
         largest_group.load(), largest_region.load());
}

// Makes NCCL use GPUDirect RDMA: the stand-in's device memory is the host's, so the plugin may take it for such.
ncclResult_t get_properties(int device, ncclNetProperties_v11_t* properties) {
  const ncclResult_t result = wrapped.getProperties(device, properties);
  properties->ptrSupport |= NCCL_PTR_CUDA;
  return result;
}
ncclResult_t register_memory(void* comm, void* data, size_t size, int, void** handle) {
  raise(&largest_region, size);
  return wrapped.regMr(comm, data, size, NCCL_PTR_HOST, handle);
}
ncclResult_t receive(void* comm, int n, void** data, size_t* sizes, int* tags, void** memory, void** own,
                     void** request) {
  const ncclResult_t result = wrapped.irecv(comm, n, data, sizes, tags, memory, own, request);
  if (*request != nullptr) raise(&largest_group, n);
  return result;
}
ncclResult_t flush(void* comm, int n, void** data, int* sizes, void** memory, void** request) {
  ++flushes;
  return wrapped.iflush(comm, n, data, sizes, memory, request);
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
#ifdef PCI
  NET_SYMBOL.getProperties = get_properties;
#endif
#ifdef CLAIM_CUDA
  NET_SYMBOL.getProperties = get_properties;
  NET_SYMBOL.regMr = register_memory;
  NET_SYMBOL.irecv = receive;
  NET_SYMBOL.iflush = flush;
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
