#include "datagram_transfer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "error.h"
#include "interrupt.h"
#include "process_time.h"

namespace mrc::perf {

namespace {

constexpr auto kLook = std::chrono::microseconds(500);  // between polls of the TCP connection
constexpr auto kQuiet =
    std::chrono::milliseconds(100);                // without an arrival once the peer has sent all: the rest is lost
constexpr auto kStall = std::chrono::seconds(10);  // in which no datagram leaves
constexpr auto kDrain = std::chrono::seconds(40);  // after the duration, for the peer to finish

}  // namespace

DatagramTransfer::DatagramTransfer(const DatagramSetup& setup, const Pattern& pattern, Monitor& monitor)
    : s_(setup),
      pattern_(pattern),
      monitor_(monitor),
      sender_(setup.client || setup.options.bidirectional),
      receiver_(!setup.client || setup.options.bidirectional),
      lanes_(setup.options.qps),
      wrs_(setup.plan.chunk),
      sges_(setup.plan.chunk) {
  const uint64_t iters = s_.options.iters;
  target_chunks_ = iters == 0 ? UINT64_MAX : (iters + s_.plan.chunk - 1) / s_.plan.chunk;
}

bool DatagramTransfer::may_post(const Lane& lane) const {
  return !stop_ && lane.posted < target_chunks_ && lane.posted - lane.completed < s_.plan.window;
}

void DatagramTransfer::post_chunk(uint32_t qp) {
  const Plan& p = s_.plan;
  Lane& lane = lanes_[qp];
  const uint32_t me = s_.client ? 0 : 1;
  for (uint32_t i = 0; i < p.chunk; ++i) {
    const auto message = static_cast<uint32_t>(lane.posted * p.chunk + i);
    const uint64_t offset = s_.options.verify ? pattern_.offset(me, qp, message) : 0;
    sges_[i] = {reinterpret_cast<uint64_t>(s_.source.data()) + offset, static_cast<uint32_t>(p.size),
                s_.source.mr().lkey};
    wrs_[i] = s_.datagrams.request(qp, qp);
    wrs_[i].next = i + 1 < p.chunk ? &wrs_[i + 1] : nullptr;
    wrs_[i].sg_list = &sges_[i];
    wrs_[i].num_sge = p.size == 0 ? 0 : 1;
    wrs_[i].imm_data = message;
    wrs_[i].send_flags = s_.datagrams.inline_flag(p.size);
  }
  wrs_[p.chunk - 1].send_flags |= IBV_SEND_SIGNALED;
  if (in_flight_ == 0) last_left_ = now_;
  s_.datagrams.post(qp, wrs_.data());
  ++lane.posted;
  ++in_flight_;
}

// Checks a few queue pairs, starting after the last one checked.
bool DatagramTransfer::post_round() {
  bool any = false;
  const uint32_t looks = std::min<uint32_t>(s_.options.qps, 64);
  for (uint32_t i = 0; i < looks; ++i) {
    const uint32_t qp = next_qp_;
    next_qp_ = next_qp_ + 1 == s_.options.qps ? 0 : next_qp_ + 1;
    if (!may_post(lanes_[qp])) continue;
    post_chunk(qp);
    any = true;
  }
  return any;
}

bool DatagramTransfer::all_posted() const {
  return stop_ ||
         std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return lane.posted >= target_chunks_; });
}

void DatagramTransfer::on_arrival(const ibv_wc& wc) {
  const Datagrams::Arrived arrived = s_.datagrams.arrived(wc);
  ++result_.received;
  last_arrival_ = now_;
  int64_t at = arrived.bytes == s_.plan.size ? -1 : 0;
  if (s_.options.verify) {
    ++result_.checked;
    const uint64_t offset = pattern_.offset(s_.client ? 1 : 0, arrived.qp, wc.imm_data);
    if (at < 0) at = pattern_.first_mismatch(arrived.data, arrived.bytes, offset);
  }
  s_.datagrams.recycle(wc);
  if (at < 0) return;
  ++result_.mismatches;
  if (result_.first_mismatch.empty())
    result_.first_mismatch = "message " + std::to_string(wc.imm_data) + " of queue pair " + std::to_string(arrived.qp) +
                             ", " + std::to_string(arrived.bytes) + " bytes, differs from byte " + std::to_string(at) +
                             " on";
}

void DatagramTransfer::poll() {
  ibv_wc wc[64];
  const int n = mrc_poll_cq(s_.datagrams.cq(), 64, wc);
  if (n < 0) throw PerfError(std::string("mrc_poll_cq: ") + std::strerror(errno), "this is a defect of the library");
  now_ = Clock::now();
  for (int i = 0; i < n; ++i) {
    if (wc[i].status != IBV_WC_SUCCESS) throw_failed(wc[i]);
    if (Datagrams::is_receive(wc[i])) {
      on_arrival(wc[i]);
      continue;
    }
    ++lanes_[Datagrams::number(wc[i])].completed;
    --in_flight_;
    result_.sent += s_.plan.chunk;
    last_left_ = now_;
  }
  s_.datagrams.post_recycled();
}

void DatagramTransfer::send_done() {
  done_sent_ = true;
  result_.send_s = std::chrono::duration<double>(last_left_ - begin_).count();
  s_.oob.send({{"done", result_.sent}, {"interrupted", interrupted()}});
}

void DatagramTransfer::hear_peer() {
  if (const auto message = peer_done_ ? std::nullopt : s_.oob.try_receive()) {
    peer_sent_ = message->at("done").get<uint64_t>();
    if (message->value("interrupted", false)) stop_ = true;  // the opposite direction ends, too
    peer_done_ = true;
    quiet_from_ = now_;
  }
  if (peer_done_) s_.oob.look();
  if (s_.oob.peer_gone() && !(peer_done_ && done_sent_))
    throw PerfError("the peer process is gone", "look at the output of the other mrc-perf");
}

void DatagramTransfer::tick() {
  monitor_.tick(now_, (result_.sent + (sender_ ? 0 : result_.received)) * s_.plan.size);
  if (now_ >= deadline_ || interrupted()) stop_ = true;
  if (in_flight_ > 0 && now_ - last_left_ > kStall)
    throw PerfError(std::to_string(in_flight_ * s_.plan.chunk) + " datagrams do not leave this host",
                    "all paths are down: see mrc-info --stats");
  if (deadline_ != Clock::time_point::max() && !peer_done_ && now_ - deadline_ > kDrain)
    throw PerfError("the time is over, and the other side has not finished",
                    "look at the output of the other mrc-perf");
  if (now_ < next_look_) return;
  next_look_ = now_ + kLook;
  hear_peer();
}

bool DatagramTransfer::finished() const {
  if (!done_sent_ || !peer_done_) return false;
  return !receiver_ || result_.received >= peer_sent_ || now_ - std::max(last_arrival_, quiet_from_) > kQuiet;
}

void DatagramTransfer::start_run(double seconds) {
  stop_ = done_sent_ = peer_done_ = false;
  peer_sent_ = 0;
  result_ = {};
  begin_ = now_ = last_left_ = last_arrival_ = Clock::now();
  const auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  deadline_ = seconds == 0 ? Clock::time_point::max() : begin_ + length;
  monitor_.start(begin_);
  if (s_.client && !interrupted() && !s_.options.slices) end_well_when_interrupted();
}

TransferResult DatagramTransfer::run(double seconds) {
  const double cpu = tools::cpu_seconds();
  start_run(seconds);
  if (!sender_) send_done();
  while (!finished()) {
    const bool posted = sender_ && post_round();
    poll();
    tick();
    if (sender_ && !done_sent_ && in_flight_ == 0 && !posted && all_posted()) send_done();
  }
  result_.receive_s = std::chrono::duration<double>(last_arrival_ - begin_).count();
  result_.cpu_s = tools::cpu_seconds() - cpu;
  return result_;
}

}  // namespace mrc::perf
