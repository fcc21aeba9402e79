// NsccReplay: drives HtsimNscc with recorded simulator events, line by line, and compares every recorded
// variable after each event [MRC-NSCC-30, spec/nscc.md]. Times in picoseconds. Reads no file itself; the caller feeds
// lines. Used by mrc-nscc-replay and the unit tests.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "htsim_nscc.h"

namespace mrc::core {

class NsccReplay {
 public:
  enum class Trimming : uint8_t { kAuto, kOn, kOff };
  struct Options {
    // The records do not give the target delay. kAuto looks at the first event of a context, which opens the first
    // quick-adapt period and so shows whether T is 0.75 R (trimming) or R.
    Trimming trimming = Trimming::kAuto;
    int64_t target = 0;  // ps; above 0: T itself
    size_t keep_mismatches = 20;
  };
  struct Mismatch {
    uint64_t line = 0;
    std::string variable;
    int64_t expected = 0;
    int64_t got = 0;
  };
  struct Counts {
    uint64_t contexts = 0, acks = 0, nacks = 0, timeouts = 0;
    uint64_t rts_acks = 0;  // ACKs whose RTT did not count for base_rtt
    uint64_t compared = 0;  // variables
    uint64_t mismatches = 0;
    uint64_t bad_lines = 0;
    std::array<uint64_t, 15> branches{};
  };

  explicit NsccReplay(const Options& options) : options_(options) {}

  // Empty lines and lines that start with '#' are passed over. False: not a record, see error().
  bool feed(const std::string& line);
  const std::string& error() const { return error_; }
  uint64_t line_number() const { return line_number_; }
  const Counts& counts() const { return counts_; }
  const std::vector<Mismatch>& mismatches() const { return mismatches_; }
  static const char* branch_name(size_t bit);

 private:
  struct Context {
    HtsimNscc::Recorded start;
    HtsimNscc nscc;
    bool settled = false;  // the target delay is known
  };
  // Whether the window in R records is the one before or after the timeout; the first that changes it decides.
  enum class TimeoutWindow : uint8_t { kUnknown, kBefore, kAfter };
  using Fields = std::vector<int64_t>;
  bool fail(const std::string& why);
  bool start_context(const Fields& f);
  void settle(const Fields& f, Context* context);
  void replay_ack(const Fields& f, HtsimNscc* context);
  void replay_nack(const Fields& f, HtsimNscc* context);
  void replay_timeout(const Fields& f, HtsimNscc* context);
  void compare(const char* variable, int64_t expected, int64_t got);
  void compare_tail(const Fields& f, const NsccState& s);
  void count_branches(uint16_t branches);

  Options options_;
  std::map<int64_t, Context> contexts_;
  TimeoutWindow timeout_window_ = TimeoutWindow::kUnknown;
  std::vector<Mismatch> mismatches_;
  Counts counts_;
  uint64_t line_number_ = 0;
  std::string error_;
};

}  // namespace mrc::core
