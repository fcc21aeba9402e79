// An established connection: completions, errors, and the monitoring of the peer.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "connection.h"
#include "log.h"

namespace mrc::nccl {

namespace {

constexpr int kPollAtOnce = 16;
constexpr uint32_t kReceivesAtOnce = 64;
constexpr auto kBetweenLooks = std::chrono::milliseconds(5);  // after the peer: a system call
constexpr auto kBetweenSpeedLooks = std::chrono::milliseconds(100);

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
  const ncclResult_t result = is_remote(wc.status) || gone_ ? ncclRemoteError : ncclSystemError;
  fail(result, std::string(text_of(wc.status)) + " (status " + std::to_string(wc.status) + ", vendor error " +
                   std::to_string(wc.vendor_err) + ")");
}

ncclResult_t Connection::progress() {
  if (error_ != ncclSuccess) return error_;
  ibv_wc wc[kPollAtOnce];
  bool any = false;
  for (mrc_cq* cq : cqs_) {
    const int n = api_.mrc_poll_cq(cq, kPollAtOnce, wc);
    if (n < 0) return fail(ncclSystemError, std::string("mrc_poll_cq: ") + std::strerror(errno));
    for (int i = 0; i < n && error_ == ncclSuccess; ++i) {
      if (wc[i].status != IBV_WC_SUCCESS) {
        broken(wc[i]);
      } else if (static_cast<Work>(wc[i].wr_id >> 56) == Work::kBeat) {
        beating_ = false;
        --lanes_[0].in_flight;
      } else {
        completed(wc[i]);
      }
    }
    any |= n > 0;
  }
  if (any) {
    quiet_ = false;
    return error_;
  }
  const Clock::time_point now = coarse_now();
  if (now - looked_at_ >= kBetweenLooks) look_after_peer(now);
  return error_;
}

void Connection::look_after_peer(Clock::time_point now) {
  const Settings& settings = process().settings;
  looked_at_ = now;
  if (!quiet_) last_sign_ = now;
  quiet_ = true;
  look_at_speed(now);
  if (gone_) {
    if (now - gone_at_ >= std::chrono::milliseconds(settings.peer_timeout_ms))
      fail(ncclRemoteError, "the peer has closed the connection or its process has ended");
    return;
  }
  if (socket_.open()) {
    const Io io = socket_.look();
    if (io == Io::kClosed) gone_ = true, gone_at_ = Clock::now();  // not the last tick: the whole time is the requests'
    if (io == Io::kFailed) {
      NET_INFO("The set-up socket to %s failed: %s. The connection goes on without it", peer_.c_str(),
               std::strerror(errno));
      socket_.close();
    }
  }
  if (settings.keepalive_s > 0 && !beating_ && now - last_sign_ >= std::chrono::seconds(settings.keepalive_s)) beat();
}

void Connection::look_at_speed(Clock::time_point now) {
  if (now - speed_looked_at_ < kBetweenSpeedLooks || api_.query_qp_stats == nullptr) return;
  speed_looked_at_ = now;
  const std::string line = slow_watch_.look(now, oldest_posting(), peer_, [this] { return sample(); });
  if (!line.empty()) NET_WARN("%s", line.c_str());
  if (profiled()) look_at_paths();
}

// Before the first update all planes are taken for good.
void Connection::look_at_paths() {
  const QpSample now = sample();
  uint64_t good = 0, all = 0;
  for (const EvSample& ev : now.evs) {
    if (ev.plane < 1 || ev.plane > 63) continue;
    all |= 1ULL << ev.plane;
    if (ev.state == "GOOD") good |= 1ULL << ev.plane;
  }
  PathDescription& last = profiled_paths_;
  const uint64_t good_before = last.qp_num == 0 ? all : last.good_planes;
  const int type =
      (now.retransmits > last.retransmits ? kProfileRetransmit : 0) | (good != good_before ? kProfilePathChange : 0);
  last = {static_cast<uint8_t>(type), static_cast<int>(now.qpn), now.retransmits, now.timeouts, good};
  if (type != 0) update_events(last);
}

QpSample Connection::sample() const {
  if (lanes_.empty()) return {};
  const auto busiest = std::max_element(lanes_.begin(), lanes_.end(),
                                        [](const Lane& a, const Lane& b) { return a.in_flight < b.in_flight; });
  return sample_of(*busiest);
}

QpSample Connection::sample_of(const Lane& lane) const {
  if (api_.query_qp_stats == nullptr || lane.qp == nullptr) return {};
  std::string text(8192, '\0');
  for (;;) {
    const int size = api_.query_qp_stats(lane.qp, text.data(), text.size());
    if (size < 0) return {};
    const bool whole = static_cast<size_t>(size) < text.size();
    text.resize(static_cast<size_t>(size) + (whole ? 0 : 1024));  // between two calls a line may grow
    if (whole) return parse_qp_stats(text);
  }
}

void Connection::beat() {
  Lane& lane = lanes_[0];
  if (!room(lane, 1)) return;  // the requests that fill the queue will fail, too
  ibv_send_wr wr{};
  wr.wr_id = work_id(Work::kBeat, 0, 0);
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = control_addr_;
  wr.wr.rdma.rkey = control_keys_[lane.remote_member];
  ++lane.in_flight;
  beating_ = post(lane, &wr) == ncclSuccess;
}

ncclResult_t Connection::post(Lane& lane, ibv_send_wr* list) {
  ibv_send_wr* bad = nullptr;
  const int error = api_.mrc_post_send(lane.qp, list, &bad);
  if (error == 0) return ncclSuccess;
  return fail(ncclSystemError, std::string("mrc_post_send: ") + std::strerror(error > 0 ? error : errno));
}

ncclResult_t Connection::post_receives(int lane, uint32_t count) {
  ibv_recv_wr list[kReceivesAtOnce];
  while (count > 0) {
    const uint32_t n = count < kReceivesAtOnce ? count : kReceivesAtOnce;
    for (uint32_t i = 0; i < n; ++i) {
      list[i] = {};
      list[i].wr_id = work_id(Work::kReceive, lane, 0);
      list[i].next = i + 1 < n ? &list[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    const int error = api_.mrc_post_recv(lanes_[lane].qp, list, &bad);
    if (error != 0)
      return fail(ncclSystemError, std::string("mrc_post_recv: ") + std::strerror(error > 0 ? error : errno));
    count -= n;
  }
  return ncclSuccess;
}

}  // namespace mrc::nccl
