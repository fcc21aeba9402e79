// Parts shared by the cases.
#pragma once

#include <string>

#include "rig/rank.h"

namespace mrc::nccl_rig {

// Throws std::runtime_error where elements are wrong.
void must_be_right(size_t wrong, const std::string& when);
// An AllReduce of all ranks, compared.
void reduce_once(const Process& p, std::vector<Gpu>* gpus, unsigned seed, const char* when, size_t bytes = 300000);
bool is_last(const Process& p);

// Begins a communicator of the first `ranks` processes, of one device each, without blocking. NCCL's errors are left to
// init_result().
NcclComm begin_init(const Process& p, const NcclUniqueId& id, int ranks);
// kNcclInProgress: it goes on.
int init_result(const Process& p, NcclComm comm);
// Process 0's new id, for the first communicator of all processes. A barrier.
NcclUniqueId new_id(const Process& p);

// The resources held by a process. NCCL's own sockets are not counted, and the threads of streams apart.
struct Resources {
  long descriptors, threads, streams, resident_kib;
  size_t device_allocations;
};
Resources resources();
// Throws std::runtime_error where `after` has noticeably more of anything than `before`. NCCL itself keeps some memory
// and streams of each init that was aborted.
void must_not_have_grown(const Process& p, const Resources& before, const Resources& after, int aborted_inits,
                         const char* by);

}  // namespace mrc::nccl_rig
