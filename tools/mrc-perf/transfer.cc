#include "transfer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "error.h"
#include "interrupt.h"
#include "mrc_soft.h"
#include "process_time.h"

namespace mrc::perf {

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
    : s_(setup), sender_(setup.client || setup.options.bidirectional), out_(setup), in_(setup), end_(setup.oob) {}

bool Transfer::handle(const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) throw_failed(wc);
  const uint32_t qp = static_cast<uint32_t>(wc.wr_id & ~kKindMask);
  switch (wc.wr_id & kKindMask) {
    case kChunk:
      out_.completed(qp);
      return true;
    case kCredit:
      in_.credit_completed(qp);
      return false;
    default:
      in_.received(qp, wc.imm_data);
      return false;
  }
}

uint64_t Transfer::progress_bytes() const {
  return (out_.sent() + (sender_ ? 0 : in_.arrivals().received)) * s_.plan.size;
}

void Transfer::send_done() {
  result_.sent = out_.sent();
  result_.send_s = std::chrono::duration<double>(last_done_ - time_.begin()).count();
  end_.report(out_.sent(), interrupted());
}

// With a duration, and after an interrupt, the run ends regardless of the packets.
void Transfer::check_drain(Clock::time_point now) {
  const uint64_t missing = out_.in_flight() * s_.plan.chunk;
  if (!drain_.overdue(now, out_.sent() + in_.arrivals().received, sender_)) {
    if (missing != 0 && !s_.options.slices && drain_.to_announce(now))
      std::fprintf(stderr, "mrc-perf: the time is over; waiting for %llu messages in flight\n",
                   static_cast<unsigned long long>(missing));
    return;
  }
  throw PerfError(
      "the time is over, and " + (missing != 0 ? std::to_string(missing) + " messages are not acknowledged"
                                               : std::string("the other side has not finished")),
      "the peer is gone, all paths are down, or nearly all packets are lost: see mrc-info --stats on both sides");
}

void Transfer::tick(Clock::time_point now) {
  s_.monitor.tick(now, progress_bytes());
  time_.check(now);
  if (interrupted()) time_.stop();
  if (time_.stopped()) check_drain(now);
  if (!end_.due(now)) return;
  end_.poll(now);
  if (end_.peer_interrupted()) time_.stop();  // the opposite direction ends, too
  if (!end_.peer_gone() || (end_.peer_reported() && out_.in_flight() == 0)) return;
  // The transport fails first, if its retries are limited.
  if (!gone_since_) gone_since_ = now;
  const auto grace = s_.options.chosen_retries() && sender_ ? std::chrono::seconds(20) : std::chrono::seconds(1);
  if (now - *gone_since_ > grace)
    throw PerfError("the peer process is gone", "look at the output of the other mrc-perf");
}

bool Transfer::finished() const {
  if (!end_.reported() || !end_.peer_reported() || !in_.idle()) return false;
  return !in_.counts() || in_.arrivals().received >= end_.peer_sent();
}

void Transfer::start_run(double seconds) {
  cpu_before_ = tools::cpu_seconds();
  out_.restart();
  in_.restart();
  end_.restart();
  drain_.restart();
  gone_since_.reset();
  result_ = {};
  last_done_ = Clock::now();
  time_.start(last_done_, seconds);
  s_.monitor.start(last_done_);
  if (s_.client && !interrupted() && !s_.options.slices) end_well_when_interrupted();
}

TransferResult Transfer::run(double seconds) {
  start_run(seconds);
  const bool sleepy = s_.options.sleepy_server && !sender_ && !in_.counts();
  ibv_wc wc[64];
  if (!sender_) send_done();
  while (!finished()) {
    bool busy = sender_ && !time_.stopped() && out_.post_round();
    const int n = sleepy ? 0 : mrc_poll_cq(s_.connection.cq(), 64, wc);
    if (n < 0) throw PerfError(std::string("mrc_poll_cq: ") + std::strerror(errno), "this is a defect of the library");
    bool chunk_done = false;
    for (int i = 0; i < n; ++i) chunk_done |= handle(wc[i]);
    const Clock::time_point now = Clock::now();
    if (chunk_done || (!sender_ && n > 0)) last_done_ = now;
    busy |= n > 0;
    tick(now);
    if (sleepy) usleep(2000);
    if (sender_ && !end_.reported() && out_.in_flight() == 0 && !busy && (time_.stopped() || out_.all_posted()))
      send_done();
  }
  static_cast<Arrivals&>(result_) = in_.arrivals();
  result_.cpu_s = tools::cpu_seconds() - cpu_before_;
  return result_;
}

TransferResult Transfer::so_far() const {
  TransferResult done;
  static_cast<Arrivals&>(done) = in_.arrivals();
  done.sent = out_.sent();
  done.send_s = std::chrono::duration<double>(last_done_ - time_.begin()).count();
  done.cpu_s = tools::cpu_seconds() - cpu_before_;
  return done;
}

}  // namespace mrc::perf
