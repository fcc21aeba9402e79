#include "rig/case_parts.h"

#include <filesystem>
#include <fstream>

#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "rig/bench.h"
#include "rig/own_sockets.h"

namespace mrc::nccl_rig {

namespace {

long entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{});
}

}  // namespace

void must_be_right(size_t wrong, const std::string& when) {
  if (wrong != 0) throw std::runtime_error(std::to_string(wrong) + " wrong elements " + when);
}

void reduce_once(const Process& p, std::vector<Gpu>* gpus, unsigned seed, const char* when, size_t bytes) {
  must_be_right(check_once(p, gpus, "all_reduce", bytes, kFloat32, kSum, seed), when);
}

bool is_last(const Process& p) {
  return p.number == p.options.processes - 1;
}

NcclComm begin_init(const Process& p, const NcclUniqueId& id, int ranks) {
  cuda::set_current_device(0);
  NcclConfig config;
  config.blocking = 0;
  NcclComm comm = nullptr;
  const int begun = p.api.CommInitRankConfig(&comm, ranks, id, p.number, &config);
  if (begun != kNcclSuccess && begun != kNcclInProgress) check(p.api, begun, "ncclCommInitRankConfig, non-blocking");
  return comm;
}

int init_result(const Process& p, NcclComm comm) {
  int result = kNcclSuccess;
  const int asked = p.api.CommGetAsyncError(comm, &result);
  return asked != kNcclSuccess ? asked : result;
}

NcclUniqueId new_id(const Process& p) {
  NcclUniqueId id{};
  if (p.number == 0) check(p.api, p.api.GetUniqueId(&id), "ncclGetUniqueId");
  return p.board.share_id(p.number, id);
}

Resources resources() {
  std::ifstream status("/proc/self/statm");
  long pages = 0, resident = 0;
  status >> pages >> resident;
  const long streams = cuda::live_streams();
  return {descriptors_beside_nccl(), entries("/proc/self/task") - streams, streams, resident * 4,
          cuda::live_allocations()};
}

void must_not_have_grown(const Process& p, const Resources& before, const Resources& after, int aborted_inits,
                         const char* by) {
  constexpr long kDescriptors = 2, kThreads = 4, kResidentKib = 32 << 10;
  constexpr long kKibOfNccl = 20 << 10, kStreamsOfNccl = 2;  // of an aborted init, over NCCL's own sockets too
  if (p.number == 0)
    say("# by %s: descriptors %ld to %ld, threads %ld to %ld, streams %ld to %ld, resident %ld to %ld KiB, device allocations %zu to %zu",
        by, before.descriptors, after.descriptors, before.threads, after.threads, before.streams, after.streams,
        before.resident_kib, after.resident_kib, before.device_allocations, after.device_allocations);
  if (after.descriptors > before.descriptors + kDescriptors) throw std::runtime_error("descriptors leak");
  if (after.threads > before.threads + kThreads) throw std::runtime_error("threads leak");
  if (after.streams > before.streams + aborted_inits * kStreamsOfNccl) throw std::runtime_error("streams leak");
  if (after.resident_kib > before.resident_kib + kResidentKib + aborted_inits * kKibOfNccl)
    throw std::runtime_error("memory leaks");
  if (after.device_allocations > before.device_allocations + static_cast<size_t>(aborted_inits))
    throw std::runtime_error("device memory leaks");
}

}  // namespace mrc::nccl_rig
