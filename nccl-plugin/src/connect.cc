#include "connect.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "log.h"

namespace mrc::nccl {

namespace {

// The listener exists before its handle, so a refusal means that the peer has ended, or a full queue of a busy one.
constexpr auto kRetryEvery = std::chrono::milliseconds(100);
constexpr auto kRetryFor = std::chrono::seconds(3);

}  // namespace

std::string tcp_failure(int error) {
  const bool may_be_address =
      error == ECONNREFUSED || error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
  return std::string(std::strerror(error)) +
         (may_be_address ? " (NCCL_SOCKET_IFNAME of the peer chooses its address)" : "");
}

Attempt::Attempt(std::shared_ptr<Context> context, int number, int traffic_class, const Handle& handle)
    : context_(std::move(context)),
      handle_(handle),
      peer_(handle.address.text()),
      began_(Clock::now()),
      comm_(std::make_unique<SendComm>(context_, number, traffic_class, peer_)) {}

bool Attempt::is_for(const Handle& handle) const {
  return handle.cookie == handle_.cookie && handle.address.text() == peer_;
}

bool Attempt::abandoned() const {
  return Clock::now() - began_ > 2 * std::chrono::seconds(context_->process->settings.setup_timeout_s);
}

ncclResult_t Attempt::give_up(ncclResult_t result, const std::string& why) {
  NET_WARN("Connecting to %s: %s", peer_.c_str(), why.c_str());
  return result;
}

ncclResult_t Attempt::step(std::unique_ptr<SendComm>* out) {
  const auto waited = Clock::now() - began_;
  if (waited > std::chrono::seconds(context_->process->settings.setup_timeout_s))
    return give_up(ncclRemoteError, "the peer has not accepted within NCCL_MRC_SETUP_TIMEOUT = " +
                                        std::to_string(context_->process->settings.setup_timeout_s) + " s");
  const ncclResult_t result = advance();
  if (result == ncclSuccess && done_) {
    comm_->watch(std::move(socket_));
    *out = std::move(comm_);
  }
  return result;
}

// Continues as long as no step would block.
ncclResult_t Attempt::advance() {
  ncclResult_t result = ncclSuccess;
  At before;
  do {
    before = at_;
    switch (at_) {
      case At::kStart:
        if (Clock::now() < retry_at_) return ncclSuccess;
        if (!socket_.start_connect(handle_.address)) return tcp_failed();
        at_ = At::kTcp;
        break;
      case At::kTcp: {
        const Io io = socket_.finish_connect();
        if (io == Io::kFailed) return tcp_failed();
        if (io == Io::kAgain) return ncclSuccess;
        at_ = At::kRequest;
        result = make_request();
        break;
      }
      case At::kRequest:
        result = transferred(socket_.send_all(&request_, sizeof request_, &moved_), At::kAnswer);
        break;
      case At::kAnswer:
        result = transferred(socket_.receive_all(&answer_, sizeof answer_, &moved_), At::kReady);
        if (result == ncclSuccess && at_ == At::kReady) result = answered();
        break;
      case At::kReady: {
        const Io io = socket_.send_all(&kReadyByte, 1, &moved_);
        done_ = io == Io::kDone;
        if (io != Io::kDone) result = transferred(io, At::kReady);
        break;
      }
    }
  } while (at_ != before && !done_ && result == ncclSuccess);
  return result;
}

ncclResult_t Attempt::transferred(Io io, At next) {
  switch (io) {
    case Io::kDone:
      at_ = next;
      moved_ = 0;
      return ncclSuccess;
    case Io::kAgain:
      return ncclSuccess;
    case Io::kClosed:
      return give_up(ncclRemoteError, "the peer closed the connection during set-up; its log may say why");
    case Io::kFailed:
      break;
  }
  return give_up(ncclSystemError, std::string("the set-up socket failed: ") + std::strerror(errno));
}

ncclResult_t Attempt::tcp_failed() {
  const int error = errno;
  const bool may_pass = error == ECONNREFUSED || error == ETIMEDOUT || error == EAGAIN;
  if (!may_pass || Clock::now() - began_ > kRetryFor)
    return give_up(error == ECONNREFUSED ? ncclRemoteError : ncclSystemError, tcp_failure(error));
  at_ = At::kStart;
  retry_at_ = Clock::now() + kRetryEvery;
  return ncclSuccess;
}

ncclResult_t Attempt::make_request() {
  const Settings& settings = context_->process->settings;
  const int members = static_cast<int>(context_->process->devices.virtual_device(comm_->number()).members.size());
  const int max = std::max<int>(members, handle_.members);
  const int lanes = std::min(static_cast<int>(settings.qps) * max, kMaxLanes);
  if (const ncclResult_t result = comm_->create(lanes); result != ncclSuccess) return result;
  if (settings.split != 0 || max > 1) comm_->set_split(static_cast<uint32_t>(settings.split_bytes));
  comm_->describe(&request_);
  request_.cookie = handle_.cookie;
  request_.split_bytes = comm_->split_bytes();
  return ncclSuccess;
}

ncclResult_t Attempt::answered() {
  const char* fault = setup_fault(answer_, Role::kReceiver);
  if (fault == nullptr && answer_.cookie != handle_.cookie) fault = "it answers for another connection";
  if (fault != nullptr) return give_up(ncclRemoteError, std::string("the peer is refused: ") + fault);
  return comm_->connect(answer_);
}

ncclResult_t connect_step(const std::shared_ptr<Context>& context, int number, int traffic_class, void* handle,
                          SendComm** out) {
  Handle h;
  std::memcpy(&h, handle, sizeof h);
  const sa_family_t family = h.address.any.sa_family;
  if (h.magic != kHandleMagic || h.version != kSetupVersion || h.members < 1 || h.members > kMaxMembers ||
      (family != AF_INET && family != AF_INET6)) {
    NET_WARN("A connect handle was not made by this version of this plugin");
    return ncclInvalidArgument;
  }
  std::shared_ptr<Attempt> attempt;
  if (h.attempt == 0) {
    attempt = std::make_shared<Attempt>(context, number, traffic_class, h);
    h.attempt = context->attempts.add(attempt);
    std::memcpy(handle, &h, sizeof h);
  } else {
    attempt = context->attempts.find(h.attempt);
    if (attempt == nullptr || !attempt->is_for(h)) {
      NET_WARN("A connect handle is used again after its connection was made or had failed");
      return ncclInvalidUsage;
    }
  }
  std::unique_ptr<SendComm> comm;
  const ncclResult_t result = attempt->step(&comm);
  if (result != ncclSuccess || comm != nullptr) {
    context->attempts.remove(h.attempt);
    h.attempt = 0;  // the handle may be used for another connection to the same listener
    std::memcpy(handle, &h, sizeof h);
  }
  *out = comm.release();
  return result;
}

}  // namespace mrc::nccl
