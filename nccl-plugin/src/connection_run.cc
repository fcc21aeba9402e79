// An established connection: completions, errors, and the monitoring of the peer.
#include <cerrno>
#include <cstring>
#include <ctime>

#include "connection.h"
#include "invariant.h"
#include "log.h"

namespace mrc::nccl {

namespace {

constexpr int kPollAtOnce = 16;
constexpr auto kPathInterval = std::chrono::milliseconds(100);  // between checks of speed and paths

const char* text_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return "the peer does not answer, retries are exhausted";
    case IBV_WC_REM_ACCESS_ERR:
      return "the peer refused an access: key, range or right";
    case IBV_WC_REM_INV_REQ_ERR:
      return "the peer found a request invalid";
    case IBV_WC_REM_OP_ERR:
      return "the peer could not carry out a request";
    case IBV_WC_LOC_PROT_ERR:
      return "memory to be sent is not registered";
    case IBV_WC_LOC_LEN_ERR:
      return "a message is too long";
    case IBV_WC_WR_FLUSH_ERR:
      return "the queue pair is in error";
    default:
      return "the queue pair failed";
  }
}

bool is_remote(ibv_wc_status status) {
  return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR || status == IBV_WC_REM_ACCESS_ERR ||
         status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_OP_ERR || status == IBV_WC_REM_ABORT_ERR;
}

// The time of the kernel's last tick, which every idle poll can afford to read. A number of polls is no measure of
// time: where many threads share a processor, 64 of them take a second.
std::chrono::steady_clock::time_point coarse_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return std::chrono::steady_clock::time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace

ncclResult_t Connection::fail(ncclResult_t result, const std::string& why) {
  if (error_ != ncclSuccess) return error_;
  error_ = result;
  NET_WARN("Connection with %s: %s", peer_.c_str(), why.c_str());
  return error_;
}

void Connection::broken(const ibv_wc& wc) {
  const ncclResult_t result = is_remote(wc.status) || monitor_.closed() ? ncclRemoteError : ncclSystemError;
  fail(result, std::string(text_of(wc.status)) + " (status " + std::to_string(wc.status) + ", vendor error " +
                   std::to_string(wc.vendor_err) + ")");
}

ncclResult_t Connection::progress() {
  if (error_ != ncclSuccess) return error_;
  const Checked checked(this);
  ibv_wc wc[kPollAtOnce];
  bool any = false;
  for (size_t queue = 0; queue < lanes_.queues(); ++queue) {
    const int n = lanes_.poll(queue, kPollAtOnce, wc);
    if (n < 0) return fail(ncclSystemError, std::string("mrc_poll_cq: ") + std::strerror(errno));
    for (int i = 0; i < n && error_ == ncclSuccess; ++i) {
      if (wc[i].status != IBV_WC_SUCCESS) {
        broken(wc[i]);
      } else if (WorkId::unpack(wc[i].wr_id).kind == Work::kKeepalive) {
        monitor_.note_keepalive_completed();
        --lanes_[0].in_flight;
      } else {
        completed(wc[i]);
      }
    }
    any |= n > 0;
  }
  if (any) {
    monitor_.note_completion();
    return error_;
  }
  const Clock::time_point now = coarse_now();
  if (monitor_.due(now)) monitor_peer(now);
  return error_;
}

void Connection::monitor_peer(Clock::time_point now) {
  const PeerMonitor::Verdict verdict = monitor_.assess(now);
  check_paths(now);
  if (verdict == PeerMonitor::Verdict::kEnded)
    fail(ncclRemoteError, "the peer has closed the connection or its process has ended");
  if (monitor_.closed()) return;
  if (socket_.open()) check_socket();
  if (verdict == PeerMonitor::Verdict::kNeedsKeepalive) send_keepalive();
}

void Connection::check_socket() {
  const Io io = socket_.look();
  if (io == Io::kClosed) monitor_.note_closed(Clock::now());  // not the last tick: the whole time is the requests'
  if (io == Io::kFailed) {
    NET_INFO("The set-up socket to %s failed: %s. The connection goes on without it", peer_.c_str(),
             std::strerror(errno));
    socket_.close();
  }
}

void Connection::check_paths(Clock::time_point now) {
  if (now - paths_checked_at_ < kPathInterval || !lanes_.have_statistics()) return;
  paths_checked_at_ = now;
  const std::string line = slow_watch_.look(now, oldest_posting(), peer_, [this] { return lanes_.sample(); });
  if (!line.empty()) NET_WARN("%s", line.c_str());
  if (!profiled()) return;
  if (const std::optional<PathDescription> changed = path_events_.update(lanes_.sample())) update_events(*changed);
}

void Connection::send_keepalive() {
  Lane& lane = lanes_[0];
  if (!lanes_.room(lane, 1)) return;  // the requests that fill the queue will fail, too
  ibv_send_wr wr{};
  wr.wr_id = WorkId{Work::kKeepalive, 0, 0}.pack();
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = remote_control_.addr;
  wr.wr.rdma.rkey = remote_control_.keys[lane.remote_member];
  ++lane.in_flight;
  if (post(lane, &wr) == ncclSuccess) monitor_.note_keepalive_posted();
}

ncclResult_t Connection::post(const Lane& lane, ibv_send_wr* list) {
  const int error = lanes_.post(lane, list);
  if (error == 0) return ncclSuccess;
  return fail(ncclSystemError, std::string("mrc_post_send: ") + std::strerror(error));
}

ncclResult_t Connection::post_receives(size_t lane, uint32_t count) {
  const int error = lanes_.post_receives(lane, count);
  if (error == 0) return ncclSuccess;
  return fail(ncclSystemError, std::string("mrc_post_recv: ") + std::strerror(error));
}

}  // namespace mrc::nccl
