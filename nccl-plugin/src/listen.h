// Listener: waits for connectors. Whoever connects to the port is a candidate until its Hello has come and bears the
// cookie of the handle; a candidate that says something else, or nothing for too long, is dropped without effect on the
// others. A peer that is the right one and fails later ends accept with an error: NCCL must not wait for it for ever.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <list>
#include <memory>

#include "context.h"
#include "handshake.h"
#include "recv_comm.h"

namespace mrc::nccl {

class Listener {
 public:
  // Null: the reason is in the log. Fills in the handle.
  static std::unique_ptr<Listener> make(std::shared_ptr<Context> context, int number, void* handle);

  // *out stays null while nobody has come. An error of the listening socket itself (no more file descriptors) is told:
  // NCCL asks again for ever where nothing comes.
  ncclResult_t accept(std::unique_ptr<RecvComm>* out);

 private:
  enum class At { kHello, kAnswer, kReady, kDone, kDropped };
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxCandidates = 64;

  struct Candidate {
    Socket socket;
    std::string peer;
    Clock::time_point since;
    At at = At::kHello;
    size_t moved = 0;
    Hello hello, answer;
    std::unique_ptr<RecvComm> comm;
  };

  Listener(std::shared_ptr<Context> context, int number) : context_(std::move(context)), number_(number) {}
  ncclResult_t take_candidates();
  ncclResult_t make_room();
  ncclResult_t advance(Candidate& candidate);
  ncclResult_t hear(Candidate& candidate);
  ncclResult_t greeted(Candidate& candidate);
  ncclResult_t interrupted(Candidate& candidate, Io io);
  void drop(Candidate& candidate, const std::string& why);

  const std::shared_ptr<Context> context_;
  const int number_;
  uint64_t cookie_ = 0;
  Socket socket_;
  std::list<Candidate> candidates_;
};

}  // namespace mrc::nccl
