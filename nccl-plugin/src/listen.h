// Listener: waits for connectors. A connection to the port is a candidate until its SetupMessage has arrived with the
// cookie of the handle; a candidate that sends other data, or nothing for too long, is dropped without effect on the
// others. If the genuine peer fails later, accept ends with an error: NCCL must not wait for it for ever.
//
// Threads: any. NCCL calls accept and close from its proxy's thread, but finalize, which ends a listener that was left
// open, from another.
#pragma once

#include <chrono>
#include <list>
#include <memory>

#include "context.h"
#include "handshake.h"
#include "mutex.h"
#include "recv_comm.h"

namespace mrc::nccl {

class Listener {
 public:
  // Null: the reason is in the log. Fills in the handle.
  static std::unique_ptr<Listener> make(const std::shared_ptr<Context>& context, int number, void* handle);

  // *out stays null until the peer has connected. An error of the listening socket itself (no more file descriptors) is
  // returned: otherwise NCCL would call again for ever.
  ncclResult_t accept(std::unique_ptr<RecvComm>* out) ABSL_LOCKS_EXCLUDED(mutex_);
  // Its communicator has ended: closes the sockets and releases the context. The object stays until NCCL closes it.
  void end() ABSL_LOCKS_EXCLUDED(mutex_);
  ~Listener();

 private:
  enum class At { kRequest, kAnswer, kReady, kDone, kDropped };
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxCandidates = 64;

  struct Candidate {
    Socket socket;
    std::string peer;
    Clock::time_point since;
    At at = At::kRequest;
    size_t moved = 0;
    SetupMessage request, answer;
    std::unique_ptr<RecvComm> comm;
  };

  Listener(std::shared_ptr<Context> context, int number) : number_(number), context_(std::move(context)) {}
  ncclResult_t take_candidates() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ncclResult_t make_room() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ncclResult_t advance(Candidate& candidate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ncclResult_t receive_request(Candidate& candidate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ncclResult_t on_request(Candidate& candidate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ncclResult_t interrupted(Candidate& candidate, Io io);
  void drop(Candidate& candidate, const std::string& why);

  const int number_;
  uint64_t cookie_ = 0;
  Mutex mutex_;
  std::shared_ptr<Context> context_ ABSL_GUARDED_BY(mutex_);  // null: ended
  Socket socket_ ABSL_GUARDED_BY(mutex_);
  std::list<Candidate> candidates_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::nccl
