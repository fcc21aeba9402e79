#include "datagram_latency.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "error.h"
#include "process_time.h"
#include "transfer.h"

namespace mrc::perf {

namespace {

constexpr uint64_t kSpins = 64;  // polls between two readings of the clock
constexpr auto kRepeat = std::chrono::milliseconds(100);
// Of a round, at the client; the server waits longer for the client's message.
constexpr auto kRoundLimit = std::chrono::seconds(10), kServerLimit = std::chrono::seconds(40);

Clock::duration length_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void DatagramLatency::send(uint64_t round) {
  const uint64_t size = s_.plan.size;
  while (posted_ - released_ >= std::min<uint64_t>(LatencyRounds::kQueue, s_.plan.depth)) poll();
  if (size > 0) s_.source.data()[size - 1] = static_cast<uint8_t>(round + 1);
  const auto qp = static_cast<uint32_t>(round % s_.options.qps);
  ibv_sge sge{reinterpret_cast<uint64_t>(s_.source.data()), static_cast<uint32_t>(size), s_.source.mr().lkey};
  ibv_send_wr wr = s_.datagrams.request(qp, posted_ + 1);
  wr.sg_list = &sge;
  wr.num_sge = size == 0 ? 0 : 1;
  wr.imm_data = static_cast<uint32_t>(round);
  wr.send_flags = s_.datagrams.inline_flag(size);
  // With several queue pairs every send is signalled: a completion releases the slots of its own queue pair only.
  const bool signalled = s_.options.qps > 1 || s_.plan.depth < 2 * LatencyRounds::kSignalEvery ||
                         (posted_ + 1) % LatencyRounds::kSignalEvery == 0;
  if (signalled) wr.send_flags |= IBV_SEND_SIGNALED;
  s_.datagrams.post(qp, &wr);
  ++posted_;
  ++counts_.sent;
}

void DatagramLatency::on_arrival(const ibv_wc& wc) {
  const Datagrams::Arrived arrived = s_.datagrams.arrived(wc);
  const uint32_t number = wc.imm_data;
  const bool right = arrived.bytes == s_.plan.size &&
                     (arrived.bytes == 0 || arrived.data[arrived.bytes - 1] == static_cast<uint8_t>(number + 1));
  s_.datagrams.recycle(wc);
  if (!right)
    throw PerfError("round " + std::to_string(number) + " has wrong data",
                    "mrc-info --stats on both sides shows what was dropped and why");
  ++counts_.received;
  if (number == static_cast<uint32_t>(round_)) {
    due_ = true;
    if (!s_.client) ++round_;
  } else if (!s_.client && round_ > 0 && number == static_cast<uint32_t>(round_ - 1)) {
    due_ = true;  // the answer was lost, or it is slow
  }
}

void DatagramLatency::poll() {
  ibv_wc wc[16];
  const int n = mrc_poll_cq(s_.datagrams.cq(), 16, wc);
  if (n < 0) throw PerfError(std::string("mrc_poll_cq: ") + std::strerror(errno), "this is a defect of the library");
  for (int i = 0; i < n; ++i) {
    if (wc[i].status != IBV_WC_SUCCESS) throw_failed(wc[i]);
    if (Datagrams::is_receive(wc[i]))
      on_arrival(wc[i]);
    else
      released_ = std::max(released_, Datagrams::number(wc[i]));
  }
  s_.datagrams.post_recycled();
  if ((++spins_ & 0xFFFF) == 0) check_peer();
}

void DatagramLatency::check_peer() {
  const auto now = Clock::now();
  if (!s_.client && round_ != round_at_check_) limit_ = now + kServerLimit;
  round_at_check_ = round_;
  if (now > limit_)
    throw PerfError("a datagram is not answered, although it was repeated",
                    "the peer is gone, all paths are down, or nearly all packets are lost: see mrc-info --stats on "
                    "both sides");
  if (s_.oob.peer_gone()) throw PerfError("the peer process is gone", "look at the output of the other mrc-perf");
  // The client only listens for an error, which throws, and for the end of the connection.
  if (s_.client) return s_.oob.look();
  if (rounds_ != UINT64_MAX) return;
  if (const auto message = s_.oob.try_receive()) message->at("rounds").get_to(rounds_);
}

int64_t DatagramLatency::ask() {
  const auto start = Clock::now();
  auto asked = start;
  bool repeated = false;
  limit_ = start + kRoundLimit;
  due_ = false;
  send(round_);
  for (uint64_t spins = 1; !due_; ++spins) {
    poll();
    if (due_ || spins % kSpins != 0) continue;
    const auto now = Clock::now();
    if (now - asked < kRepeat) continue;
    check_peer();
    asked = now;
    repeated = true;
    send(round_);
  }
  counts_.repeated += repeated ? 1 : 0;
  return repeated ? -1 : std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

void DatagramLatency::request_rounds(double seconds) {
  const uint64_t wanted = s_.options.iters;
  const uint64_t max_warm_up = s_.options.slices ? LatencyRounds::kSliceWarmUp : LatencyRounds::kWarmUp;
  const uint64_t warm_up = wanted != 0 ? std::min(max_warm_up, wanted / 10 + 1) : max_warm_up;
  const auto until = Clock::now() + length_of(seconds);
  samples_.reserve(wanted != 0 ? wanted : 1U << 20);
  bool warm = false;
  for (uint64_t done = 0; wanted != 0 ? done < wanted + warm_up : samples_.empty() || Clock::now() < until;
       ++done, ++round_) {
    const int64_t ns = ask();
    if (ns < 0) continue;  // it was repeated
    // On a path so slow that the time is over before the warm-up, all rounds count.
    if (done >= warm_up && !std::exchange(warm, true)) samples_.clear();
    samples_.push_back(static_cast<uint32_t>(std::min<int64_t>(ns / 2, UINT32_MAX)));
  }
  s_.oob.send({{"rounds", round_}});
}

void DatagramLatency::answer_rounds() {
  rounds_ = UINT64_MAX;
  limit_ = Clock::now() + kServerLimit;
  while (round_ < rounds_ || due_) {
    poll();
    if (!due_) continue;
    due_ = false;
    send(round_ - 1);
  }
}

LatencyResult DatagramLatency::run(double seconds) {
  samples_.clear();
  cpu_before_ = tools::cpu_seconds();
  begin_ = Clock::now();
  counts_ = {};
  s_.client ? request_rounds(seconds) : answer_rounds();
  return so_far();
}

LatencyResult DatagramLatency::so_far() const {
  LatencyResult result = summarise(samples_);
  result.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  result.cpu_s = tools::cpu_seconds() - cpu_before_;
  result.sent = counts_.sent;
  result.received = counts_.received;
  result.repeated = counts_.repeated;
  return result;
}

}  // namespace mrc::perf
