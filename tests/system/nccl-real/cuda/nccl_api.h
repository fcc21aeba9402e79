// NCCL's functions and numbers that the rig uses, in our own declarations.
#pragma once

#include <cstddef>

namespace mrc::nccl_rig {

struct NcclUniqueId {
  char bytes[128];
};
using NcclComm = void*;

enum NcclResult { kNcclSuccess = 0, kNcclInProgress = 7 };
enum NcclType {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8e4m3,
  kFloat8e5m2,
  kNcclTypes
};
enum NcclOp { kSum, kProd, kMax, kMin, kAvg, kNcclOps };

constexpr int kUndefined = -2147483647 - 1;  // "not configured", of every int below
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 22809;
  int blocking = kUndefined, cga_cluster_size = kUndefined, min_ctas = kUndefined, max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined, traffic_class = kUndefined;
  const char* comm_name = nullptr;
  int collnet = kUndefined, cta_policy = kUndefined, shrink_share = kUndefined, nvls_ctas = kUndefined,
      channels_per_peer = kUndefined, nvlink_centric = kUndefined;
};

// Results are NcclResult; `stream` is a cudaStream_t.
struct NcclApi {
  int (*GetVersion)(int*);
  int (*GetUniqueId)(NcclUniqueId*);
  int (*CommInitRankConfig)(NcclComm*, int ranks, NcclUniqueId, int rank, NcclConfig*);
  int (*CommSplit)(NcclComm, int color, int key, NcclComm*, NcclConfig*);
  int (*CommFinalize)(NcclComm);
  int (*CommDestroy)(NcclComm);
  int (*CommAbort)(NcclComm);
  int (*CommGetAsyncError)(NcclComm, int*);
  int (*CommRegister)(NcclComm, void*, size_t, void**);
  int (*CommDeregister)(NcclComm, void*);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*AllReduce)(const void*, void*, size_t, int type, int op, NcclComm, void* stream);
  int (*AllGather)(const void*, void*, size_t, int type, NcclComm, void* stream);
  int (*ReduceScatter)(const void*, void*, size_t, int type, int op, NcclComm, void* stream);
  int (*Broadcast)(const void*, void*, size_t, int type, int root, NcclComm, void* stream);
  int (*Reduce)(const void*, void*, size_t, int type, int op, int root, NcclComm, void* stream);
  int (*Send)(const void*, size_t, int type, int peer, NcclComm, void* stream);
  int (*Recv)(void*, size_t, int type, int peer, NcclComm, void* stream);
  const char* (*GetErrorString)(int);
  const char* (*GetLastError)(NcclComm);
};

}  // namespace mrc::nccl_rig
