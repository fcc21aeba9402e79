// NSCC, the window of one QP over all paths and planes [MRC-NSCC-*, spec/nscc.md]. All sizes are nominal packet sizes in
// bytes (UDP length + 40). Sans-IO: time comes in with each event.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace mrc::core {

enum class NsccMode : uint8_t { kSpec, kHtsim };

struct NsccConfig {
  bool disabled = false;                 // no congestion control: window unlimited
  NsccMode mode = NsccMode::kSpec;
  double line_rate_bps = 100e9;          // min of both ends, all planes together
  Duration base_rtt = Duration::microseconds(12);  // R: unloaded RTT of one MTU packet over the longest path
  uint32_t mtu = 4160;                   // nominal
  bool trimming = false;
  // 0 or negative: derive from rate, R and MTU by the table of the specification.
  int64_t max_cwnd = 0;
  Duration target_delay;
  double fi = -1, fi_scale = -1, eta = -1, gamma = -1, max_md_jump = -1;
  int qa_gate = -1;
  Duration qa_threshold;
  int64_t adjust_bytes_threshold = 0;
  Duration adjust_period_threshold;
  bool disable_qa = false;
  bool sticky_qa_trigger = false;        // true: as the text has it; false (default): see spec/nscc.md, choice on trap 9.1
};

}  // namespace mrc::core
