// Attempt: the connector's side of the set-up (handshake.h), one step per call of connect. Its number is in the
// handle between the calls, the attempt itself with the context: an unknown number is a mistake of the caller
// and never dereferenced. Threads: one at a time per attempt; finding one takes the context's lock.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "context.h"
#include "handshake.h"
#include "send_comm.h"

namespace mrc::nccl {

// The reason why there is no TCP connection; if the address may be wrong, with the setting that chooses it.
std::string tcp_failure(int error);

class Attempt {
 public:
  Attempt(std::shared_ptr<Context> context, int number, int traffic_class, const Handle& handle);

  // *out stays null until the peer has answered.
  ncclResult_t step(std::unique_ptr<SendComm>* out);

  // The handle under which it began: the number within a handle comes over the network, and may be that of another.
  bool is_for(const Handle& handle) const;
  // Its time has been over for so long that its caller cannot be waiting.
  bool abandoned() const;

 private:
  enum class At { kStart, kTcp, kRequest, kAnswer, kReady };
  using Clock = std::chrono::steady_clock;

  ncclResult_t advance();
  ncclResult_t give_up(ncclResult_t result, const std::string& why);
  ncclResult_t transferred(Io io, At next);
  ncclResult_t tcp_failed();
  ncclResult_t make_request();
  ncclResult_t answered();

  const std::shared_ptr<Context> context_;
  const Handle handle_;
  const std::string peer_;
  const Clock::time_point began_;
  Clock::time_point retry_at_;
  Socket socket_;
  At at_ = At::kStart;
  bool done_ = false;
  size_t moved_ = 0;
  SetupMessage request_, answer_;
  std::unique_ptr<SendComm> comm_;
};

// The two halves of the plugin's connect: *out stays null until the connection is established.
ncclResult_t connect_step(const std::shared_ptr<Context>& context, int number, int traffic_class, void* handle,
                          SendComm** out);

}  // namespace mrc::nccl
