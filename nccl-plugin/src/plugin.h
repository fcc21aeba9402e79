// The plugin's operations independent of an ABI version, called by the adapters. Arguments are the widest that any
// version has; opaque pointers of NCCL are Context handles, Listeners, Connections, Memory and Requests of this plugin.
// No exception leaves these functions. Threads: as in net_abi.h.
#pragma once

#include <cstdint>

#include "net_abi.h"

namespace mrc::nccl {

inline constexpr char kName[] = "MRC";

void use_profiler(ncclProfilerCallback_t profiler);   // from version 10 on, before init
ncclResult_t init_process(ncclDebugLogger_t logger);  // up to version 10
ncclResult_t init_context(void** context, int traffic_class, ncclDebugLogger_t logger);
ncclResult_t finalize(void* context);
// `context` NULL: that of the process, here and below.
ncclResult_t set_attributes(void* context, const ncclNetAttr_t& attributes);

ncclResult_t devices(int* count);
ncclResult_t properties(int number, ncclNetProperties_t* out);
ncclResult_t make_virtual(int* number, const int* members, int count);

ncclResult_t listen(void* context, int number, void* handle, void** listen_comm);
ncclResult_t connect(void* context, int number, int traffic_class, void* handle, void** send_comm);
ncclResult_t accept(void* listen_comm, void** recv_comm);
ncclResult_t close_send(void* send_comm);
ncclResult_t close_recv(void* recv_comm);
ncclResult_t close_listen(void* listen_comm);

ncclResult_t register_memory(void* comm, void* data, uint64_t size, int type, void** handle);
ncclResult_t register_dma_buf(void* comm, void* data, uint64_t size, int type, uint64_t offset, int fd, void** handle);
ncclResult_t deregister_memory(void* handle);

// `profile`, `profiles` (one for each member): handles of the profiler's parent events, or null.
ncclResult_t isend(void* send_comm, void* data, uint64_t size, int tag, void* memory, void* profile, void** request);
ncclResult_t irecv(void* recv_comm, int n, void** data, const uint64_t* sizes, const int* tags, void** memory,
                   void** profiles, void** request);
ncclResult_t iflush(int n, void* const* data, const int* sizes, void* const* memory, void** request);
ncclResult_t test(void* request, int* done, int* sizes);

}  // namespace mrc::nccl
