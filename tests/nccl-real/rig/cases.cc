#include "rig/cases.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "rig/bench.h"
#include "rig/clock.h"
#include "rig/rank.h"

namespace mrc::nccl_rig {

namespace {

void must_be_right(size_t wrong, const char* when) {
  if (wrong != 0) throw std::runtime_error(std::to_string(wrong) + " wrong elements " + when);
}

void reduce_once(const Process& p, std::vector<Gpu>* gpus, unsigned seed, const char* when, size_t bytes = 300000) {
  must_be_right(check_once(p, gpus, "all_reduce", bytes, kFloat32, kSum, seed), when);
}

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

// Begins a communicator without blocking, and aborts it after that many microseconds.
void abort_init_after(const Process& p, unsigned delay_us) {
  NcclUniqueId id{};
  if (p.number == 0) check(p.api, p.api.GetUniqueId(&id), "ncclGetUniqueId");
  id = p.board.share_id(p.number, id);
  cuda::set_current_device(0);
  NcclConfig config;
  config.blocking = 0;
  NcclComm comm = nullptr;
  const int begun = p.api.CommInitRankConfig(&comm, p.options.ranks(), id, p.number, &config);
  if (begun != kNcclSuccess && begun != kNcclInProgress) check(p.api, begun, "ncclCommInitRankConfig, non-blocking");
  usleep(delay_us);
  p.api.CommAbort(comm);
  p.board.barrier();
}

int abort_init(const Process& p) {
  for (unsigned delay_ms : {0u, 20u, 60u, 120u, 250u, 500u}) {
    abort_init_after(p, delay_ms * 1000 + static_cast<unsigned>(p.number) * 3000);
    std::vector<Gpu> gpus = make_gpus(p);
    reduce_once(p, &gpus, delay_ms, "after an aborted init", 5000);
    free_gpus(p, &gpus);
  }
  return 0;
}

struct Resources {
  long descriptors, threads, resident_kib;
  size_t device_allocations;
};

long entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{});
}

Resources resources() {
  std::ifstream status("/proc/self/statm");
  long pages = 0, resident = 0;
  status >> pages >> resident;
  return {entries("/proc/self/fd"), entries("/proc/self/task"), resident * 4, cuda::live_allocations()};
}

// One communicator after the other, every fourth aborted; the process must not grow. The first ones are not counted:
// threads and pools of the rig, of NCCL and of the plugin are made by them.
int churn(const Process& p) {
  constexpr int kFirst = 4;
  constexpr long kDescriptors = 4, kThreads = 4, kResidentKib = 32 << 10;
  Resources before{};
  for (int i = 0; i < kFirst + p.options.repeat; ++i) {
    if (i == kFirst) before = resources();
    std::vector<Gpu> gpus = make_gpus(p);
    reduce_once(p, &gpus, static_cast<unsigned>(i), "on a communicator of many", 5000);
    p.board.barrier();
    free_gpus(p, &gpus, i % 4 == 3);
    p.board.barrier();
  }
  const Resources after = resources();
  if (p.number == 0)
    say("# after %d communicators: descriptors %ld to %ld, threads %ld to %ld, resident %ld to %ld KiB, device allocations "
        "%zu to %zu",
        p.options.repeat, before.descriptors, after.descriptors, before.threads, after.threads, before.resident_kib,
        after.resident_kib, before.device_allocations, after.device_allocations);
  if (after.descriptors > before.descriptors + kDescriptors) throw std::runtime_error("descriptors leak");
  if (after.threads > before.threads + kThreads) throw std::runtime_error("threads leak");
  if (after.resident_kib > before.resident_kib + kResidentKib) throw std::runtime_error("memory leaks");
  if (after.device_allocations > before.device_allocations) throw std::runtime_error("device memory leaks");
  return 0;
}

// Collectives until one fails; that must happen, and the abort must then end.
int until_error(const Process& p) {
  constexpr double kLimit = 60;
  std::vector<Gpu> gpus = make_gpus(p);
  const double began = now_s();
  for (unsigned i = 0; now_s() - began < kLimit; ++i) {
    try {
      reduce_once(p, &gpus, i, "before the failure", 1 << 20);
    } catch (const NcclFailed& e) {
      say("# rank %d failed as it had to, after %.1f s: %s", p.number, now_s() - began, e.what());
      return 0;
    }
  }
  throw std::runtime_error("no error within 60 s");
}

bool last(const Process& p) {
  return p.number == p.options.processes - 1;
}

int peer_killed(const Process& p) {
  std::vector<Gpu> gpus = make_gpus(p);
  reduce_once(p, &gpus, 1, "before the death");
  p.board.barrier();
  if (last(p)) {
    kill(getpid(), SIGKILL);
    pause();
  }
  const double began = now_s();
  try {
    for (unsigned i = 0; now_s() - began < 60; ++i) reduce_once(p, &gpus, i, "after the death", 1 << 20);
  } catch (const NcclFailed& e) {
    say("# rank %d: the peer's death was an error after %.1f s: %s", p.number, now_s() - began, e.what());
    return 0;
  }
  throw std::runtime_error("a peer was killed, and no error within 60 s");
}

int peer_stopped(const Process& p) {
  constexpr unsigned kSeconds = 6;
  std::vector<Gpu> gpus = make_gpus(p);
  reduce_once(p, &gpus, 1, "before the stop");
  p.board.barrier();
  if (last(p)) {
    const pid_t self = getpid();
    const pid_t waker = fork();
    if (waker == 0) {
      sleep(kSeconds);
      kill(self, SIGCONT);
      _exit(0);
    }
    kill(self, SIGSTOP);
    waitpid(waker, nullptr, 0);
  }
  for (unsigned i = 0; i < 5; ++i) reduce_once(p, &gpus, i, "after the stop", 4 << 20);
  free_gpus(p, &gpus);
  return 0;
}

constexpr Case kCases[] = {
    {"several", "two communicators at a time", several, false},
    {"split", "ncclCommSplit, then collectives on the halves and on the whole", split, false},
    {"abort_again", "ncclCommAbort during a collective that cannot end, then a new communicator", abort_again, false},
    {"abort_init", "ncclCommAbort during a non-blocking init, at several moments", abort_init, false},
    {"churn", "--repeat communicators in a row, every fourth aborted: nothing may leak", churn, false},
    {"until_error", "collectives until one fails, within 60 s: with MRC_FAULT, all planes dead", until_error, false},
    {"peer_killed", "the last rank is killed: an error on all others within 60 s", peer_killed, true},
    {"peer_stopped", "the last rank is stopped for 6 s: no error", peer_stopped, false},
};

}  // namespace

std::span<const Case> all_cases() {
  return kCases;
}

const Case* find_case(const std::string& name) {
  const auto* found = std::find_if(std::begin(kCases), std::end(kCases), [&](const Case& c) { return name == c.name; });
  return found == std::end(kCases) ? nullptr : found;
}

}  // namespace mrc::nccl_rig
