#include "nscc_replay.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace mrc::core {
namespace {

// Columns after the record's kind; A and N share what follows kInflight.
enum Start : size_t { kFlow, kBaseRtt, kBdp, kMaxWndBytes, kCwnd, kMtu, kStartFields };
enum Ack : size_t { kNow = 1, kBytes = 2, kRtt = 3, kDelay = 4, kMarked = 5, kInflight = 6, kCwndBefore = 7 };
enum Tail : size_t {
  kCwndAfter = 8,
  kTailBaseRtt,
  kTailMaxWnd,
  kAverage,
  kIncBytes,
  kReceived,
  kAchieved,
  kFiCount,
  kMode,
  kQaEnd,
  kToIgnore,
  kIgnored,
  kEventFields
};
enum Timeout : size_t { kTimeoutInflight = 3, kTimeoutCwnd = 4, kTimeoutFields = 5 };

constexpr std::array<const char*, 15> kBranchNames = {
    "proportional", "fast",        "fair",    "no_op",   "decrease_asked", "decrease_cut", "fulfil",  "eta",
    "trim_cut",     "quick_adapt", "ignored", "penalty", "restore",        "no_sample",    "loss_cut"};

bool parse_fields(const std::string& line, std::vector<int64_t>* out) {
  const char* at = line.c_str() + 1;
  while (*at == ',') {
    ++at;
    char* end = nullptr;
    errno = 0;
    int64_t value = std::strtoll(at, &end, 10);
    if (errno == ERANGE && *at != '-') {  // an unsigned 64-bit value: the largest we have stands for it
      errno = 0;
      (void)std::strtoull(at, &end, 10);
      value = INT64_MAX;
    }
    if (end == at || errno != 0 || std::isspace(static_cast<unsigned char>(*at)) || *at == '+') return false;
    out->push_back(value);
    at = end;
  }
  return *at == '\0';
}

}  // namespace

const char* NsccReplay::branch_name(size_t bit) {
  return bit < kBranchNames.size() ? kBranchNames[bit] : "?";
}

bool NsccReplay::fail(const std::string& why) {
  ++counts_.bad_lines;
  error_ = why;
  return false;
}

bool NsccReplay::feed(const std::string& raw) {
  ++line_number_;
  std::string line = raw;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty() || line[0] == '#') return true;
  const char kind = line[0];
  size_t wanted = 0;
  switch (kind) {
    case 'I':
      wanted = kStartFields;
      break;
    case 'A':
    case 'N':
      wanted = kEventFields;
      break;
    case 'R':
      wanted = kTimeoutFields;
      break;
    default:
      return fail("unknown record, wanted I, A, N or R");
  }
  Fields f;
  if (!parse_fields(line, &f)) return fail("a field is not a decimal number of 64 bits");
  if (f.size() != wanted) {
    return fail("wanted " + std::to_string(wanted) + " fields after the kind, found " + std::to_string(f.size()));
  }
  if (kind == 'I') return start_context(f);
  const auto it = contexts_.find(f[kFlow]);
  if (it == contexts_.end()) return fail("flow " + std::to_string(f[kFlow]) + " has no I record before this line");
  if (f[kNow] < 0 || f[kBytes] < 0) return fail("negative time or size");
  if (kind != 'R' && !it->second.settled) settle(f, &it->second);
  HtsimNscc& context = it->second.nscc;
  if (kind == 'A') replay_ack(f, &context);
  if (kind == 'N') replay_nack(f, &context);
  if (kind == 'R') replay_timeout(f, &context);
  count_branches(context.last_branches());
  return true;
}

bool NsccReplay::start_context(const Fields& f) {
  if (f[kBaseRtt] <= 0 || f[kBdp] <= 0 || f[kMaxWndBytes] <= 0 || f[kCwnd] <= 0) {
    return fail("R, BDP, max_wnd and cwnd must be above 0");
  }
  if (f[kMtu] <= int64_t{kHtsimHeader} || f[kMtu] > UINT16_MAX) return fail("mtu must be within 65..65535");
  HtsimNscc::Recorded start;
  start.base_rtt = f[kBaseRtt];
  start.bdp = f[kBdp];
  start.max_wnd = f[kMaxWndBytes];
  start.cwnd = f[kCwnd];
  start.mtu = static_cast<uint32_t>(f[kMtu]);
  start.trimming = options_.trimming != Trimming::kOff;
  start.target = options_.target;
  contexts_.insert_or_assign(f[kFlow], Context{start, HtsimNscc::recorded(start), false});
  ++counts_.contexts;
  return true;
}

void NsccReplay::settle(const Fields& f, Context* context) {
  context->settled = true;
  if (options_.trimming != Trimming::kAuto || options_.target > 0) return;
  if (f[kQaEnd] - f[kNow] - f[kTailBaseRtt] != context->start.base_rtt) return;
  context->start.trimming = false;
  context->start.cwnd = context->nscc.cwnd();  // a timeout may have come first and moves nothing else
  context->nscc = HtsimNscc::recorded(context->start);
}

void NsccReplay::replay_ack(const Fields& f, HtsimNscc* context) {
  ++counts_.acks;
  compare("cwnd_before", f[kCwndBefore], context->cwnd());
  context->set_inflight(f[kInflight]);
  // A valid sample below the base RTT that did not lower it belongs to a control packet; how the simulator took its
  // delay is in the record only.
  const bool may_lower = f[kTailBaseRtt] <= f[kRtt];
  if (f[kRtt] > 0 && !may_lower) ++counts_.rts_acks;
  const int64_t delay = context->ack_ticks(f[kNow], f[kBytes], f[kRtt], f[kMarked] != 0, may_lower, f[kDelay]);
  compare("delay", f[kDelay], delay);
  compare_tail(f, context->state());
}

void NsccReplay::replay_nack(const Fields& f, HtsimNscc* context) {
  ++counts_.nacks;
  compare("cwnd_before", f[kCwndBefore], context->cwnd());
  context->set_inflight(f[kInflight]);
  context->nack_ticks(f[kNow], f[kBytes], f[kRtt], f[kTailBaseRtt] <= f[kRtt]);
  compare_tail(f, context->state());
}

void NsccReplay::replay_timeout(const Fields& f, HtsimNscc* context) {
  ++counts_.timeouts;
  context->set_inflight(f[kTimeoutInflight]);
  const int64_t before = context->cwnd();
  context->loss_ticks(f[kBytes]);
  const int64_t after = context->cwnd();
  if (timeout_window_ == TimeoutWindow::kUnknown && before != after) {
    timeout_window_ = f[kTimeoutCwnd] == before ? TimeoutWindow::kBefore : TimeoutWindow::kAfter;
  }
  compare("cwnd", f[kTimeoutCwnd], timeout_window_ == TimeoutWindow::kBefore ? before : after);
}

void NsccReplay::compare_tail(const Fields& f, const NsccState& s) {
  compare("cwnd", f[kCwndAfter], s.cwnd);
  compare("base_rtt", f[kTailBaseRtt], s.base_rtt);
  compare("max_wnd", f[kTailMaxWnd], s.max_wnd);
  compare("avg", f[kAverage], static_cast<int64_t>(s.avg_delay));
  compare("inc_bytes", f[kIncBytes], s.inc_bytes);
  compare("received", f[kReceived], s.received_bytes);
  compare("achieved", f[kAchieved], s.achieved_bytes);
  compare("fi_count", f[kFiCount], s.fi_count);
  compare("mode", f[kMode], s.increase_mode);
  compare("qa_end", f[kQaEnd], s.qa_endtime);
  compare("bytes_to_ignore", f[kToIgnore], s.bytes_to_ignore);
  compare("bytes_ignored", f[kIgnored], s.bytes_ignored);
}

void NsccReplay::compare(const char* variable, int64_t expected, int64_t got) {
  ++counts_.compared;
  if (expected == got) return;
  ++counts_.mismatches;
  if (mismatches_.size() < options_.keep_mismatches) mismatches_.push_back({line_number_, variable, expected, got});
}

void NsccReplay::count_branches(uint16_t branches) {
  for (size_t bit = 0; bit < counts_.branches.size(); ++bit) counts_.branches[bit] += (branches >> bit) & 1;
}

}  // namespace mrc::core
