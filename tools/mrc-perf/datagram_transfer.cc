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
      schedule_(setup.options, setup.plan),
      end_(setup.oob),
      wrs_(setup.plan.chunk),
      sges_(setup.plan.chunk) {}

void DatagramTransfer::post_chunk(uint32_t qp) {
  const Plan& p = s_.plan;
  const uint64_t first = schedule_.posted(qp) * p.chunk;
  const uint32_t me = s_.client ? 0 : 1;
  for (uint32_t i = 0; i < p.chunk; ++i) {
    const auto message = static_cast<uint32_t>(first + i);
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
  if (schedule_.in_flight() == 0) last_left_ = now_;
  s_.datagrams.post(qp, wrs_.data());
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
  result_.note_mismatch("message " + std::to_string(wc.imm_data) + " of queue pair " + std::to_string(arrived.qp) +
                        ", " + std::to_string(arrived.bytes) + " bytes, differs from byte " + std::to_string(at) +
                        " on");
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
    schedule_.note_completed(static_cast<uint32_t>(Datagrams::number(wc[i])));
    result_.sent += s_.plan.chunk;
    last_left_ = now_;
  }
  s_.datagrams.post_recycled();
}

void DatagramTransfer::send_done() {
  result_.send_s = std::chrono::duration<double>(last_left_ - time_.begin()).count();
  end_.report(result_.sent, interrupted());
}

void DatagramTransfer::tick() {
  monitor_.tick(now_, (result_.sent + (sender_ ? 0 : result_.received)) * s_.plan.size);
  time_.check(now_);
  if (interrupted()) time_.stop();
  if (schedule_.in_flight() > 0 && now_ - last_left_ > kStall)
    throw PerfError(std::to_string(schedule_.in_flight() * s_.plan.chunk) + " datagrams do not leave this host",
                    "all paths are down: see mrc-info --stats");
  if (time_.limited() && !end_.peer_reported() && now_ - time_.deadline() > kDrain)
    throw PerfError("the time is over, and the other side has not finished",
                    "look at the output of the other mrc-perf");
  if (!end_.due(now_)) return;
  end_.poll(now_);
  if (end_.peer_interrupted()) time_.stop();  // the opposite direction ends, too
  if (end_.peer_gone() && !(end_.peer_reported() && end_.reported()))
    throw PerfError("the peer process is gone", "look at the output of the other mrc-perf");
}

bool DatagramTransfer::finished() const {
  if (!end_.reported() || !end_.peer_reported()) return false;
  return !receiver_ || result_.received >= end_.peer_sent() ||
         now_ - std::max(last_arrival_, end_.peer_reported_at()) > kQuiet;
}

void DatagramTransfer::start_run(double seconds) {
  cpu_before_ = tools::cpu_seconds();
  end_.restart();
  result_ = {};
  now_ = last_left_ = last_arrival_ = Clock::now();
  time_.start(now_, seconds);
  monitor_.start(now_);
  if (s_.client && !interrupted() && !s_.options.slices) end_well_when_interrupted();
}

TransferResult DatagramTransfer::run(double seconds) {
  start_run(seconds);
  if (!sender_) send_done();
  while (!finished()) {
    const bool posted = sender_ && !time_.stopped() &&
                        schedule_.round([](uint32_t) { return true; }, [this](uint32_t qp) { post_chunk(qp); });
    poll();
    tick();
    if (sender_ && !end_.reported() && schedule_.in_flight() == 0 && !posted &&
        (time_.stopped() || schedule_.all_posted()))
      send_done();
  }
  TransferResult result = so_far();
  result.send_s = result_.send_s;
  return result;
}

TransferResult DatagramTransfer::so_far() const {
  TransferResult done = result_;
  done.send_s = std::chrono::duration<double>(last_left_ - time_.begin()).count();
  done.receive_s = std::chrono::duration<double>(last_arrival_ - time_.begin()).count();
  done.cpu_s = tools::cpu_seconds() - cpu_before_;
  return done;
}

}  // namespace mrc::perf
