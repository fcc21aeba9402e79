// Communicators that come and go: several at a time, split, aborted, again and again.
#include <unistd.h>

#include <algorithm>

#include "cuda/device.h"
#include "cuda/stream.h"
#include "rig/bench.h"
#include "rig/case_parts.h"
#include "rig/cases.h"
#include "rig/clock.h"

namespace mrc::nccl_rig {

namespace {

// Two at a time, collectives on both by turns.
int several(const Process& p) {
  std::vector<Gpu> first = make_gpus(p), second = make_gpus(p);
  for (unsigned i = 0; i < 4; ++i) {
    reduce_once(p, &first, i, "on the first");
    must_be_right(check_once(p, &second, "all_gather", 100000, kFloat32, kSum, i), "on the second");
  }
  free_gpus(p, &first);
  must_be_right(check_once(p, &second, "alltoall", 300000, kFloat32, kSum, 9), "on the second, the first having gone");
  free_gpus(p, &second);
  return 0;
}

// Even and odd ranks.
int split(const Process& p) {
  std::vector<Gpu> all = make_gpus(p), half;
  NcclConfig config;
  for (Gpu& gpu : all) {
    Gpu part{gpu.device, gpu.rank, nullptr, gpu.stream};
    check(p.api, p.api.CommSplit(gpu.comm, gpu.rank % 2, gpu.rank, &part.comm, &config), "ncclCommSplit");
    half.push_back(part);
  }
  const int ranks = p.options.ranks(), own = p.number;
  const int halves = own % 2 == 0 ? (ranks + 1) / 2 : ranks / 2;
  for (unsigned i = 0; i < 3 && halves > 1; ++i)
    must_be_right(check_once(p, &half, "all_reduce", 200000, kFloat32, kSum, i, false, own / 2, halves),
                  "after the split");
  reduce_once(p, &all, 7, "on the whole");
  for (Gpu& gpu : half) check(p.api, p.api.CommDestroy(gpu.comm), "ncclCommDestroy of a half");
  free_gpus(p, &all);
  return 0;
}

// A communicator is aborted while a collective is under way that cannot end; the next one works.
int abort_again(const Process& p) {
  for (unsigned i = 0; i < 2; ++i) {
    std::vector<Gpu> gpus = make_gpus(p);
    reduce_once(p, &gpus, i, "before the abort");
    DeviceBuffer buffer(1 << 20, 0);
    if (p.number != 0)  // rank 0 does not take part
      check(p.api,
            p.api.AllReduce(buffer.data(), buffer.data(), (1 << 20) / 4, kFloat32, kSum, gpus[0].comm, gpus[0].stream),
            "ncclAllReduce");
    usleep(50'000);
    free_gpus(p, &gpus, true);
    p.board.barrier();
  }
  std::vector<Gpu> gpus = make_gpus(p);
  reduce_once(p, &gpus, 5, "after two aborts");
  free_gpus(p, &gpus);
  return 0;
}

// Seconds of a whole init without blocking, of the slowest process.
double time_of_init(const Process& p) {
  constexpr double kLimit = 60;
  const NcclUniqueId id = new_id(p);
  const double began = now_s();
  NcclComm comm = begin_init(p, id, p.options.ranks());
  int result = kNcclInProgress;
  while ((result = init_result(p, comm)) == kNcclInProgress && now_s() - began < kLimit) usleep(1000);
  check(p.api, result, "ncclCommInitRankConfig, non-blocking");
  const double seconds = p.board.maximum(p.number, now_s() - began);
  p.api.CommAbort(comm);
  return seconds;
}

void abort_init_after(const Process& p, double seconds) {
  const NcclUniqueId id = new_id(p);
  NcclComm comm = begin_init(p, id, p.options.ranks());
  usleep(static_cast<unsigned>(seconds * 1e6));
  p.api.CommAbort(comm);
  p.board.barrier();
}

// At moments spread over an init, --repeat times as many as there are here. The processes abort a little apart.
int abort_init(const Process& p) {
  constexpr int kMoments = 6;
  const int moments = kMoments * p.options.repeat;
  const double whole = time_of_init(p);
  Resources before{};
  for (int i = 0; i < moments; ++i) {
    if (i == 1) before = resources();
    abort_init_after(p, whole * i / moments + 0.003 * p.number);
    std::vector<Gpu> gpus = make_gpus(p);
    reduce_once(p, &gpus, static_cast<unsigned>(i), "after an aborted init", 5000);
    free_gpus(p, &gpus);
  }
  must_not_have_grown(p, before, resources(), moments - 1, "aborted inits");
  return 0;
}

// One communicator after the other, every fourth aborted, every eighth during its init; the process must not grow. The
// first ones are not counted: threads and pools of the rig, of NCCL and of the plugin are made by them.
int churn(const Process& p) {
  constexpr int kFirst = 8;
  const double init = time_of_init(p);
  Resources before{};
  for (int i = 0; i < kFirst + p.options.repeat; ++i) {
    if (i == kFirst) before = resources();
    if (i % 8 == 5) {
      abort_init_after(p, init * (i / 8 % 8) / 8);
      continue;
    }
    std::vector<Gpu> gpus = make_gpus(p);
    reduce_once(p, &gpus, static_cast<unsigned>(i), "on a communicator of many", 5000);
    p.board.barrier();
    free_gpus(p, &gpus, i % 4 == 3);
    p.board.barrier();
  }
  must_not_have_grown(p, before, resources(), p.options.repeat / 8 + 1, "communicators in a row");
  return 0;
}

// NCCL finalizes the plugin with the last communicator: its devices must be closed then, and open again with the next
// one.
int unload(const Process& p) {
  constexpr long kOfNccl = 16;  // pipes and event descriptors that NCCL keeps
  const Resources before = resources();
  for (unsigned i = 0; i < 3; ++i) {
    std::vector<Gpu> gpus = make_gpus(p);
    reduce_once(p, &gpus, i, "after the plugin was finalized");
    const Resources during = resources();
    p.board.barrier();
    free_gpus(p, &gpus);
    const Resources after = resources();
    if (p.number == 0)
      say("# descriptors %ld, with a communicator %ld, without %ld; threads %ld, %ld, %ld", before.descriptors,
          during.descriptors, after.descriptors, before.threads, during.threads, after.threads);
    if (after.descriptors > before.descriptors + kOfNccl) throw std::runtime_error("the plugin keeps its devices open");
    p.board.barrier();
  }
  return 0;
}

constexpr Case kCases[] = {
    {"several", "two communicators at a time", several, false},
    {"split", "ncclCommSplit, then collectives on the halves and on the whole", split, false},
    {"abort_again", "ncclCommAbort during a collective that cannot end, then a new communicator", abort_again, false},
    {"abort_init", "ncclCommAbort during a non-blocking init, at moments spread over it: nothing may leak", abort_init,
     false},
    {"unload", "without a communicator the plugin's devices are closed; then another communicator", unload, false},
    {"churn", "--repeat communicators in a row, some aborted, some during init: nothing may leak", churn, false},
};

}  // namespace

std::span<const Case> life_cases() {
  return kCases;
}

}  // namespace mrc::nccl_rig
