// Peers that die or stop, and networks that do.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cuda/stream.h"
#include "rig/bench.h"
#include "rig/case_parts.h"
#include "rig/cases.h"
#include "rig/clock.h"

namespace mrc::nccl_rig {

namespace {

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

int peer_killed(const Process& p) {
  std::vector<Gpu> gpus = make_gpus(p);
  reduce_once(p, &gpus, 1, "before the death");
  p.board.barrier();
  if (is_last(p)) {
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

// The time that the survivors of a peer's death during init took, and their errors.
struct Survival {
  double seconds;
  bool error;  // found by NCCL; else the survivor gave up waiting
};

// True once the process that was to end has ended, or is a zombie.
bool has_ended(const Board& board) {
  if (board.ending() == 0) return false;
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, board.ending(), 0));
  if (fd < 0) return true;
  pollfd ended{fd, POLLIN, 0};
  const bool yes = poll(&ended, 1, 0) == 1;
  close(fd);
  return yes;
}

// As a job's watchdog: waits for an error of the init, and after the death for no longer than a limit, a shorter one
// once another rank has met an error; then aborts. A rank that waits for the ended one to connect cannot detect its
// end. The limit begins with the death, which a busy machine delays: an abort before it would end the init of the one
// that is to die.
Survival survive_init(const Process& p, const NcclUniqueId& id) {
  constexpr double kLimit = 10, kAfterAnother = 2, kUntilDeath = 60;
  const double began = now_s();
  double until = began + kUntilDeath;
  bool dead = false;
  bool notified = false;
  NcclComm comm = begin_init(p, id, p.options.ranks());
  int result = kNcclInProgress;
  for (; (result = init_result(p, comm)) == kNcclInProgress && now_s() < until; usleep(1000)) {
    if (!dead && has_ended(p.board)) {
      dead = true;
      until = now_s() + kLimit;
    }
    if (dead && p.board.finishing() && !notified) {
      notified = true;
      until = std::min(until, now_s() + kAfterAnother);
    }
  }
  if (result != kNcclInProgress) p.board.finish();
  if (result == kNcclSuccess) throw std::runtime_error("a peer was killed in its init, and the init succeeded");
  const Survival survival{now_s() - began, result != kNcclInProgress};
  p.api.CommAbort(comm);
  return survival;
}

// The last rank ends in a call of its plugin, which NCCL_RIG_DIES_IN of plugin_wrapper.cc names. The others come to an
// end by an error or by an abort, and a communicator of them alone works.
int peer_killed_in_init(const Process& p) {
  const NcclUniqueId id = new_id(p);
  p.board.lose_process();
  if (is_last(p)) {
    p.board.set_ending(getpid());
    setenv("NCCL_RIG_DIES", "1", 1);
    NcclComm comm = begin_init(p, id, p.options.ranks());
    while (init_result(p, comm) == kNcclInProgress) usleep(1000);
    throw std::runtime_error("the plugin has not ended the process in NCCL_RIG_DIES_IN");
  }
  const Survival survival = survive_init(p, id);
  say("# rank %d: %s after %.1f s", p.number, survival.error ? "the death was an error" : "nothing but an abort",
      survival.seconds);
  const int rest = p.options.processes - 1;
  std::vector<Gpu> gpus{{0, p.number, nullptr, new cuda::Stream}};
  NcclConfig config;
  check(p.api, p.api.CommInitRankConfig(&gpus[0].comm, rest, new_id(p), p.number, &config), "init of the survivors");
  must_be_right(check_once(p, &gpus, "all_reduce", 300000, kFloat32, kSum, 3, false, p.number, rest),
                "among the survivors");
  free_gpus(p, &gpus);
  return 0;
}

int peer_stopped(const Process& p) {
  constexpr unsigned kSeconds = 6;
  std::vector<Gpu> gpus = make_gpus(p);
  reduce_once(p, &gpus, 1, "before the stop");
  p.board.barrier();
  if (is_last(p)) {
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
    {"until_error", "collectives until one fails, within 60 s: with MRC_FAULT, all planes dead", until_error, false},
    {"peer_killed", "the last rank is killed: an error on all others within 60 s", peer_killed, true},
    {"peer_killed_in_init", "the last rank dies in a call of its plugin during init; the others go on without it",
     peer_killed_in_init, true},
    {"peer_stopped", "the last rank is stopped for 6 s: no error", peer_stopped, false},
};

}  // namespace

std::span<const Case> failure_cases() {
  return kCases;
}

}  // namespace mrc::nccl_rig
