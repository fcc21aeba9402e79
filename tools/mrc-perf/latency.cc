#include "latency.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "error.h"
#include "process_time.h"
#include "transfer.h"

namespace mrc::perf {

namespace {

constexpr uint64_t kReceiveId = 1ULL << 56;
constexpr uint32_t kReceives = 16;
// Time limit of the last round after the end of the duration; the server waits longer for the client's message.
constexpr auto kLastRound = std::chrono::seconds(10), kLastMessage = std::chrono::seconds(40);

}  // namespace

Latency::Latency(const LatencySetup& setup) : s_(setup) {
  last_byte_ = s_.buffer.data() + std::max<uint64_t>(s_.plan.size, 1) - 1;
}

void Latency::post_first_receives() {
  if (s_.options.op != Op::kWriteImm) return;
  for (mrc_qp* qp : s_.connection.qps()) {
    for (uint32_t i = 0; i < std::min(kReceives, s_.plan.depth); ++i) {
      ibv_recv_wr wr{}, *bad = nullptr;
      wr.wr_id = kReceiveId;
      if (int rc = mrc_post_recv(qp, &wr, &bad); rc != 0)
        throw PerfError(std::string("mrc_post_recv: ") + std::strerror(rc), "use a larger --depth");
    }
  }
}

void Latency::post(uint64_t round) {
  const uint64_t qp = round % s_.connection.qps().size();
  while (posted_ - released_ >= std::min<uint64_t>(LatencyRounds::kQueue, s_.plan.depth)) poll();
  if (s_.plan.size > 0) s_.source.data()[s_.plan.size - 1] = static_cast<uint8_t>(round + 1);
  ibv_sge sge{reinterpret_cast<uint64_t>(s_.source.data()), static_cast<uint32_t>(s_.plan.size), s_.source.mr().lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = s_.plan.size == 0 ? 0 : 1;
  wr.opcode = s_.options.op == Op::kWrite ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
  if (s_.plan.size <= static_cast<uint64_t>(s_.options.inline_bytes) && s_.plan.size <= s_.connection.max_inline())
    wr.send_flags |= IBV_SEND_INLINE;
  // With several queue pairs every send is signalled: a completion releases the slots of its own queue pair only.
  const bool signalled = s_.connection.qps().size() > 1 || s_.plan.depth < 2 * LatencyRounds::kSignalEvery ||
                         (posted_ + 1) % LatencyRounds::kSignalEvery == 0;
  wr.wr_id = posted_ + 1;
  if (signalled) wr.send_flags |= IBV_SEND_SIGNALED;
  wr.imm_data = static_cast<uint32_t>(round);
  wr.wr.rdma.remote_addr = s_.connection.remote_addr();
  wr.wr.rdma.rkey = s_.connection.rkey();
  if (int rc = mrc_post_send(s_.connection.qps()[qp], &wr, &bad); rc != 0)
    throw PerfError(std::string("mrc_post_send: ") + std::strerror(rc), "this is a defect of mrc-perf or the library");
  ++posted_;
}

void Latency::poll() {
  ibv_wc wc[16];
  const int n = mrc_poll_cq(s_.connection.cq(), 16, wc);
  if (n < 0) throw PerfError(std::string("mrc_poll_cq: ") + std::strerror(errno), "this is a defect of the library");
  for (int i = 0; i < n; ++i) {
    if (wc[i].status != IBV_WC_SUCCESS) throw_failed(wc[i]);
    if (wc[i].wr_id == kReceiveId) {
      ibv_recv_wr wr{}, *bad = nullptr;
      wr.wr_id = kReceiveId;
      const uint64_t qp = receives_seen_ % s_.connection.qps().size();  // the peer uses the same order
      if (mrc_post_recv(s_.connection.qps()[qp], &wr, &bad) != 0)
        throw PerfError("mrc_post_recv failed", "use a larger --depth");
      ++receives_seen_;
    } else {
      released_ = std::max(released_, wc[i].wr_id);
    }
  }
  if ((++spins_ & 0xFFFF) == 0) check_peer();
}

void Latency::check_peer() {
  if (Clock::now() > limit_)
    throw PerfError(
        "the time is over, and a message is not answered",
        "the peer is gone, all paths are down, or nearly all packets are lost: see mrc-info --stats on both "
        "sides");
  if (s_.oob.peer_gone()) throw PerfError("the peer process is gone", "look at the output of the other mrc-perf");
  // The client only listens for an error, which throws, and for the end of the connection.
  if (s_.client) return s_.oob.look();
  if (rounds_ != UINT64_MAX) return;
  if (const auto message = s_.oob.try_receive()) message->at("rounds").get_to(rounds_);
}

bool Latency::wait(uint64_t round) {
  if (s_.options.op == Op::kWriteImm) {
    while (receives_seen_ <= round && !stopped_before(round)) poll();
    return receives_seen_ > round;
  }
  const auto expected = static_cast<uint8_t>(round + 1);
  while (__atomic_load_n(last_byte_, __ATOMIC_ACQUIRE) != expected && !stopped_before(round)) poll();
  return !stopped_before(round);
}

void Latency::run_client(double seconds) {
  const uint64_t wanted = s_.options.iters;
  const uint64_t max_warm_up = s_.options.slices ? LatencyRounds::kSliceWarmUp : LatencyRounds::kWarmUp;
  const uint64_t warm_up = wanted != 0 ? std::min(max_warm_up, wanted / 10 + 1) : max_warm_up;
  const auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const auto until = Clock::now() + length;
  samples_.reserve(wanted != 0 ? wanted : 1U << 20);
  uint64_t done = 0;
  for (auto end = Clock::now(); wanted != 0 ? done < wanted + warm_up : done == 0 || end < until; ++done, ++round_) {
    const auto start = Clock::now();
    post(round_);
    wait(round_);
    end = Clock::now();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
    // On a path so slow that the time is over before the warm-up, all rounds count.
    if (done == warm_up) samples_.clear();
    samples_.push_back(static_cast<uint32_t>(std::min<int64_t>(ns / 2, UINT32_MAX)));
  }
  s_.oob.send({{"rounds", round_}});
}

LatencyResult Latency::run(double seconds) {
  samples_.clear();
  cpu_before_ = tools::cpu_seconds();
  begin_ = Clock::now();
  rounds_ = UINT64_MAX;
  if (seconds != 0)
    limit_ = begin_ + (s_.client ? kLastRound : kLastMessage) +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  if (s_.client) {
    run_client(seconds);
  } else {
    for (; wait(round_); ++round_) post(round_);
  }
  return so_far();
}

LatencyResult Latency::so_far() const {
  LatencyResult result = summarise(samples_);
  result.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  result.cpu_s = tools::cpu_seconds() - cpu_before_;
  return result;
}

LatencyResult summarise(std::vector<uint32_t> half_round_trips_ns) {
  LatencyResult r;
  std::vector<uint32_t>& v = half_round_trips_ns;
  r.samples = v.size();
  if (v.empty()) return r;
  std::sort(v.begin(), v.end());
  auto at = [&](double q) { return v[static_cast<size_t>(q * static_cast<double>(v.size() - 1))] * 1e-3; };
  r.min_us = v.front() * 1e-3;
  r.p50_us = at(0.5);
  r.p90_us = at(0.9);
  r.p99_us = at(0.99);
  r.p999_us = at(0.999);
  r.max_us = v.back() * 1e-3;
  r.mean_us = std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size()) * 1e-3;
  return r;
}

}  // namespace mrc::perf
