#include "transfer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>

#include "error.h"
#include "interrupt.h"
#include "mrc_soft.h"
#include "process_time.h"

namespace mrc::perf {

namespace {

// wr_id: kind in the top byte, queue pair below.
constexpr uint64_t kChunk = 1ULL << 56, kCredit = 2ULL << 56, kReceive = 3ULL << 56, kKindMask = 0xFFULL << 56;

constexpr auto kLook = std::chrono::microseconds(500);  // between polls of the TCP connection

// Once nothing new is sent: from one completion to the next, and in all. A side that only receives waits longer,
// because the other one can report better what is missing.
constexpr auto kStall = std::chrono::seconds(10), kDrain = std::chrono::seconds(30);

}  // namespace

void throw_failed(const ibv_wc& wc) {
  std::string advice = "mrc-info --stats on both sides shows what was dropped and why";
  const char* what = "another error";
  switch (wc.status) {
    case IBV_WC_RETRY_EXC_ERR:
      if (wc.vendor_err == MRC_SOFT_VENDOR_ERR_PATH_MTU) {
        what = "the packets are larger than any path to the peer carries";
        advice = "raise the MTU along the path, or use a smaller --mtu: the log has the path's limit";
        break;
      }
      what = "retries exceeded: the peer does not answer";
      advice = "the peer is gone or all paths are down; --retry 7,25 never gives up";
      break;
    case IBV_WC_REM_ACCESS_ERR:
      what = "remote access error: key, range or access right";
      break;
    case IBV_WC_LOC_PROT_ERR:
      what = "local protection error";
      break;
    case IBV_WC_WR_FLUSH_ERR:
      what = "flushed: the queue pair went to error before";
      break;
    case IBV_WC_REM_INV_REQ_ERR:
      what = "remote invalid request";
      break;
    default:
      break;
  }
  throw PerfError("a completion failed with status " + std::to_string(wc.status) + " (" + what + ")", advice);
}

Transfer::Transfer(const TransferSetup& setup)
    : s_(setup),
      sender_(setup.client || setup.options.bidirectional),
      receiver_(!setup.client || setup.options.bidirectional),
      counts_receives_(setup.options.op == Op::kWriteImm || setup.options.verify),
      lanes_(setup.options.qps),
      wrs_(setup.plan.chunk + 1),
      sges_(setup.plan.chunk),
      recv_wrs_(setup.plan.depth + setup.plan.window) {
  const Plan& p = s_.plan;
  target_chunks_ = s_.options.iters == 0 ? UINT64_MAX : (s_.options.iters + p.chunk - 1) / p.chunk;
}

void Transfer::post_first_receives() {
  if (!receiver_ || !counts_receives_) return;
  for (uint32_t qp = 0; qp < s_.options.qps; ++qp) {
    post_receives(qp, s_.options.op == Op::kWriteImm ? s_.plan.depth + s_.plan.window : 2 * s_.plan.window);
  }
}

void Transfer::post_receives(uint32_t qp, uint32_t count) {
  count = std::min<uint32_t>(count, static_cast<uint32_t>(recv_wrs_.size()));
  for (uint32_t i = 0; i < count; ++i) {
    recv_wrs_[i] = {};
    recv_wrs_[i].wr_id = kReceive | qp;
    recv_wrs_[i].next = i + 1 < count ? &recv_wrs_[i + 1] : nullptr;
  }
  ibv_recv_wr* bad = nullptr;
  if (int rc = mrc_post_recv(s_.connection.qps()[qp], recv_wrs_.data(), &bad); rc != 0)
    throw PerfError(std::string("mrc_post_recv: ") + std::strerror(rc), "use a smaller --depth");
}

bool Transfer::may_post(uint32_t qp) const {
  const Lane& lane = lanes_[qp];
  if (stop_ || lane.posted >= target_chunks_ || lane.posted - lane.done >= s_.plan.window) return false;
  if (!s_.options.verify) return true;
  // Written by the peer at any time, so read like a flag of another thread.
  const auto* credits = reinterpret_cast<const uint64_t*>(s_.buffer.data() + s_.plan.credits_at);
  return lane.posted < __atomic_load_n(&credits[qp], __ATOMIC_ACQUIRE) + s_.plan.window;
}

void Transfer::post_chunk(uint32_t qp) {
  const Plan& p = s_.plan;
  const Options& o = s_.options;
  Lane& lane = lanes_[qp];
  const uint64_t first = lane.posted * p.chunk;
  const bool notice = o.verify && o.op == Op::kWrite;
  const unsigned inline_flag =
      p.size <= static_cast<uint64_t>(o.inline_bytes) && p.size <= s_.connection.max_inline() ? IBV_SEND_INLINE : 0;
  const uint32_t me = s_.client ? 0 : 1;
  for (uint32_t i = 0; i < p.chunk; ++i) {
    const uint64_t message = first + i;
    const uint64_t offset = o.verify ? s_.pattern.offset(me, qp, message) : 0;
    sges_[i] = {reinterpret_cast<uint64_t>(s_.source.data()) + offset, static_cast<uint32_t>(p.size),
                s_.source.mr().lkey};
    ibv_send_wr& wr = wrs_[i];
    wr = {};
    wr.wr_id = kChunk | qp;
    wr.next = &wrs_[i + 1];
    wr.sg_list = &sges_[i];
    wr.num_sge = p.size == 0 ? 0 : 1;
    wr.opcode = o.op == Op::kWrite ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.send_flags = inline_flag;
    wr.imm_data = static_cast<uint32_t>(message);
    wr.wr.rdma.remote_addr = s_.connection.remote_addr() + p.slot_offset(qp, message);
    wr.wr.rdma.rkey = s_.connection.rkey();
  }
  ibv_send_wr* last = &wrs_[p.chunk - 1];
  if (notice) {
    last = &wrs_[p.chunk];
    *last = {};
    last->wr_id = kChunk | qp;
    last->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    last->imm_data = static_cast<uint32_t>(lane.posted);
    last->wr.rdma.remote_addr = s_.connection.remote_addr();
    last->wr.rdma.rkey = s_.connection.rkey();
  }
  last->next = nullptr;
  last->send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (int rc = mrc_post_send(s_.connection.qps()[qp], wrs_.data(), &bad); rc != 0)
    throw PerfError(std::string("mrc_post_send: ") + std::strerror(rc), "use a smaller --depth");
  ++lane.posted;
  ++chunks_in_flight_;
}

// Checks a few queue pairs, starting after the last one checked.
bool Transfer::post_round() {
  bool any = false;
  const uint32_t looks = std::min<uint32_t>(s_.options.qps, 64);
  for (uint32_t i = 0; i < looks; ++i) {
    const uint32_t qp = next_qp_;
    next_qp_ = next_qp_ + 1 == s_.options.qps ? 0 : next_qp_ + 1;
    if (!may_post(qp)) continue;
    post_chunk(qp);
    any = true;
  }
  return any;
}

bool Transfer::handle(const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) throw_failed(wc);
  const uint32_t qp = static_cast<uint32_t>(wc.wr_id & ~kKindMask);
  switch (wc.wr_id & kKindMask) {
    case kChunk:
      ++lanes_[qp].done;
      --chunks_in_flight_;
      sent_messages_ += s_.plan.chunk;
      return true;
    case kCredit:
      --sends_in_flight_;
      --lanes_[qp].credits_in_flight;
      if (lanes_[qp].credit_owed) give_credit(qp);
      return false;
    default:
      received(qp, wc.imm_data);
      return false;
  }
}

void Transfer::received(uint32_t qp, uint32_t imm) {
  Lane& lane = lanes_[qp];
  const bool each = s_.options.op == Op::kWriteImm;
  const uint64_t expected = each ? lane.recv_messages : lane.recv_chunks;
  if (imm != static_cast<uint32_t>(expected)) {
    ++result_.mismatches;
    if (result_.first_mismatch.empty())
      result_.first_mismatch = "immediate " + std::to_string(imm) + " instead of " + std::to_string(expected) +
                               " on queue pair " + std::to_string(qp);
  }
  if (++lane.recv_slack >= std::max(1U, s_.plan.window)) {
    post_receives(qp, lane.recv_slack);
    lane.recv_slack = 0;
  }
  if (each) {
    ++lane.recv_messages;
    ++result_.received;
    if (lane.recv_messages % s_.plan.chunk == 0) chunk_arrived(qp);
  } else {
    lane.recv_messages += s_.plan.chunk;
    result_.received += s_.plan.chunk;
    chunk_arrived(qp);
  }
}

void Transfer::chunk_arrived(uint32_t qp) {
  Lane& lane = lanes_[qp];
  const uint64_t first = lane.recv_chunks++ * s_.plan.chunk;
  if (!s_.options.verify) return;
  for (uint64_t m = first; m < first + s_.plan.chunk; ++m) verify_message(qp, m);
  give_credit(qp);
}

// The newest count replaces all older ones, so one that cannot be posted now is sent with the next completion.
void Transfer::give_credit(uint32_t qp) {
  Lane& lane = lanes_[qp];
  lane.credit_owed = lane.credits_in_flight >= s_.plan.window;
  if (lane.credit_owed) return;
  ++lane.credits_in_flight;
  uint64_t credit = lane.recv_chunks;
  ibv_sge sge{reinterpret_cast<uint64_t>(&credit), sizeof credit, 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = kCredit | qp;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = s_.connection.remote_addr() + s_.plan.credits_at + uint64_t{qp} * 8;
  wr.wr.rdma.rkey = s_.connection.rkey();
  if (int rc = mrc_post_send(s_.connection.qps()[qp], &wr, &bad); rc != 0)
    throw PerfError(std::string("mrc_post_send of a credit: ") + std::strerror(rc),
                    "this is a defect of mrc-perf or the library");
  ++sends_in_flight_;
}

void Transfer::verify_message(uint32_t qp, uint64_t message) {
  const uint32_t peer = s_.client ? 1 : 0;
  const uint8_t* data = s_.buffer.data() + s_.plan.slot_offset(qp, message);
  const int64_t at = s_.pattern.first_mismatch(data, s_.plan.size, s_.pattern.offset(peer, qp, message));
  ++result_.checked;
  if (at < 0) return;
  ++result_.mismatches;
  if (result_.first_mismatch.empty())
    result_.first_mismatch = "message " + std::to_string(message) + " of queue pair " + std::to_string(qp) +
                             " differs from byte " + std::to_string(at) + " on";
}

uint64_t Transfer::progress_bytes() const {
  return (sent_messages_ + (sender_ ? 0 : result_.received)) * s_.plan.size;
}

void Transfer::send_done() {
  done_sent_ = true;
  result_.sent = sent_messages_;
  result_.send_s = std::chrono::duration<double>(last_done_ - begin_).count();
  s_.oob.send({{"done", sent_messages_}, {"interrupted", interrupted()}});
}

// With a duration, and after an interrupt, the run ends regardless of the packets.
void Transfer::check_drain(Clock::time_point now) {
  const uint64_t done = sent_messages_ + result_.received;
  if (drain_begin_ == Clock::time_point()) drain_begin_ = drain_moved_ = now;
  if (done != drain_done_) {
    drain_done_ = done;
    drain_moved_ = now;
  }
  const bool over =
      sender_ ? now - drain_moved_ > kStall || now - drain_begin_ > kDrain : now - drain_begin_ > kDrain + kStall;
  if (!over) return;
  const uint64_t missing = chunks_in_flight_ * s_.plan.chunk;
  throw PerfError(
      "the time is over, and " + (missing != 0 ? std::to_string(missing) + " messages are not acknowledged"
                                               : std::string("the other side has not finished")),
      "the peer is gone, all paths are down, or nearly all packets are lost: see mrc-info --stats on both sides");
}

void Transfer::tick(Clock::time_point now) {
  s_.monitor.tick(now, progress_bytes());
  if (now >= deadline_ || interrupted()) stop_ = true;
  if (stop_) check_drain(now);
  if (now < next_look_) return;
  next_look_ = now + kLook;
  if (const auto message = peer_done_ ? std::nullopt : s_.oob.try_receive()) {
    peer_sent_ = message->at("done").get<uint64_t>();
    if (message->value("interrupted", false)) stop_ = true;  // the opposite direction ends, too
    peer_done_ = true;
  }
  if (peer_done_) s_.oob.look();
  if (!s_.oob.peer_gone() || (peer_done_ && chunks_in_flight_ == 0)) return;
  // The transport fails first, if its retries are limited.
  if (!gone_) gone_ = true, gone_since_ = now;
  const auto grace = s_.options.chosen_retries() && sender_ ? std::chrono::seconds(20) : std::chrono::seconds(1);
  if (now - gone_since_ > grace)
    throw PerfError("the peer process is gone", "look at the output of the other mrc-perf");
}

bool Transfer::finished() const {
  if (!done_sent_ || !peer_done_ || sends_in_flight_ != 0) return false;
  return !receiver_ || !counts_receives_ || result_.received >= peer_sent_;
}

void Transfer::start_run(double seconds) {
  stop_ = done_sent_ = peer_done_ = gone_ = false;
  sent_messages_ = peer_sent_ = drain_done_ = 0;
  drain_begin_ = drain_moved_ = {};
  result_ = {};
  begin_ = last_done_ = Clock::now();
  const auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  deadline_ = seconds == 0 ? Clock::time_point::max() : begin_ + length;
  s_.monitor.start(begin_);
  if (s_.client && !interrupted() && !s_.options.slices) end_well_when_interrupted();
}

TransferResult Transfer::run(double seconds) {
  const double cpu = tools::cpu_seconds();
  start_run(seconds);
  const bool sleepy = s_.options.sleepy_server && !sender_ && !counts_receives_;
  ibv_wc wc[64];
  if (!sender_) send_done();
  while (!finished()) {
    bool busy = sender_ && post_round();
    const int n = sleepy ? 0 : mrc_poll_cq(s_.connection.cq(), 64, wc);
    if (n < 0) throw PerfError(std::string("mrc_poll_cq: ") + std::strerror(errno), "this is a defect of the library");
    bool chunk_done = false;
    for (int i = 0; i < n; ++i) chunk_done |= handle(wc[i]);
    const Clock::time_point now = Clock::now();
    if (chunk_done) last_done_ = now;
    busy |= n > 0;
    tick(now);
    if (sleepy) usleep(2000);
    if (sender_ && !done_sent_ && chunks_in_flight_ == 0 && !busy &&
        (stop_ || std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.posted >= target_chunks_; })))
      send_done();
  }
  result_.cpu_s = tools::cpu_seconds() - cpu;
  return result_;
}

}  // namespace mrc::perf
