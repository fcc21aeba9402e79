// What NCCL 2.28.9 hands to its kernels, as it lies in memory: the fields that the player uses, in our own
// declarations. The offsets are those of the library's debug information; another build has others, hence the check of
// the build id.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc::nccl_rig::player {

constexpr int kSteps = 8;  // slots of a connection's buffer
constexpr int kMaxChannels = 64;
constexpr int kTreeArity = 3;  // children of a node of a tree
enum Protocol { kLl, kLl128, kSimple, kProtocols };

struct ConnFifo {
  int mode;  // 1: the slot is at `offset`
  int offset;
  int64_t size;
  void* ptr;
};
static_assert(sizeof(ConnFifo) == 24);

constexpr int kDirectNic = 4;  // a flag of a connection: the network reads and writes device memory at both ends
struct ConnInfo {
  char* buffers[kProtocols];
  void* memory_handles[kProtocols];
  uint64_t *tail, *head;
  int flags, shared, step_size;
  void** ptr_exchange;
  uint64_t* op_exchange;
  ConnFifo* fifo;
  uint64_t step, ll_last_cleaning;
  char net_device[32];
};
static_assert(sizeof(ConnInfo) == 152 && offsetof(ConnInfo, fifo) == 96 && offsetof(ConnInfo, step) == 104);

struct ChannelPeer {
  ConnInfo send[2], recv[2];  // [0] collectives, [1] Send/Recv
};
static_assert(sizeof(ChannelPeer) == 608);

struct Ring {
  int prev, next;
  int* user_ranks;
  int index;
};
struct Tree {
  int depth, up, down[kTreeArity];
};
struct alignas(16) Channel {
  ChannelPeer** peers;
  Ring ring;
  Tree tree;
  char others[300];
  uint64_t work_counter;
};
static_assert(sizeof(Channel) == 368 && offsetof(Channel, ring) == 8 && offsetof(Channel, tree) == 32 &&
              offsetof(Channel, work_counter) == 352);

struct KernelComm {
  int rank, ranks, node, nodes, buffer_sizes[kProtocols], p2p_chunk_size, all_nvlink;
  int* dense_to_user_rank;
  volatile uint32_t* abort_flag;
  Channel* channels_pointer;
  int* rank_to_local_rank;
  void *work_started, *work_completed;
  alignas(16) Channel channels[kMaxChannels];
};
static_assert(offsetof(KernelComm, abort_flag) == 48 && offsetof(KernelComm, channels) == 96 &&
              sizeof(KernelComm) == 23648);

enum WorkStorage : uint8_t { kInArguments, kInFifo, kPersistent };
struct KernelArguments {
  KernelComm* comm;
  uint64_t channel_mask;
  WorkStorage storage;
  uint32_t work_mask;
  char* work_buffer;
};
static_assert(sizeof(KernelArguments) == 32 && offsetof(KernelArguments, work_buffer) == 24);

enum WorkType { kWorkP2p, kWorkColl, kWorkCollReg, kWorkTypes };
constexpr size_t kWorkSizes[kWorkTypes] = {48, 96, 288};

struct WorkBatch {
  uint32_t next_jump : 14, next_extends : 1, work_type : 2, function : 15;
  uint32_t offset_base;
  uint64_t offset_bits;
};
static_assert(sizeof(WorkBatch) == 16);

struct WorkP2p {
  char *send_address, *recv_address;
  size_t send_bytes, recv_bytes;
  int send_rank, recv_rank;
  uint8_t channels, channel_base, send_channels, recv_channels, send_chunk_fp8, recv_chunk_fp8;
  uint8_t send_ll : 1, recv_ll : 1, send_net_reg : 1, recv_net_reg : 1, send_ipc_reg : 1, recv_ipc_reg : 1,
      profiler : 1;
};
static_assert(sizeof(WorkP2p) == 48);

struct WorkColl {
  uint32_t channel_lo : 8, channel_hi : 8, warps : 8, op_is_pointer : 1, registered : 1, net_registered : 1,
      one_node : 1, direct : 2, one_rank_per_node : 1, profiler : 1;
  uint32_t root;
  char *recv, *send;
  uintptr_t send_offset, recv_offset, *send_remote, *recv_remote;
  size_t count_lo, count_mid, count_hi;
  uint64_t grains_lo : 21, grains_mid : 21, grains_hi : 21;
  uint64_t op_argument;
};
static_assert(sizeof(WorkColl) == 96 && offsetof(WorkColl, op_argument) == 88);

}  // namespace mrc::nccl_rig::player
