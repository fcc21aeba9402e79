#include "datapath/fault_plan.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "datapath/fault.h"

namespace mrc::datapath {

namespace {

constexpr const char* kActions = "loss, burstloss, dup, reorder, delay, corrupt, ecn, trim, blackhole";

struct ActionName {
  const char* name;
  FaultKind kind;
};
constexpr std::array<ActionName, 9> kNames = {{{"loss", FaultKind::kLoss},
                                               {"burstloss", FaultKind::kBurstLoss},
                                               {"dup", FaultKind::kDup},
                                               {"reorder", FaultKind::kReorder},
                                               {"delay", FaultKind::kDelay},
                                               {"corrupt", FaultKind::kCorrupt},
                                               {"ecn", FaultKind::kEcn},
                                               {"trim", FaultKind::kTrim},
                                               {"blackhole", FaultKind::kBlackhole}}};

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  bool parse(FaultPlan* plan) {
    plan->text = text_;
    skip();
    while (at_ < text_.size()) {
      if (!clause(plan)) return false;
      skip();
      if (at_ < text_.size() && !expect(';', "';' or ',' or the end")) return false;
      skip();
    }
    return true;
  }
  const std::string& error() const { return error_; }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool fail(size_t where, const std::string& expected) {
    size_t end = where;
    while (end < text_.size() && end < where + 12) ++end;
    error_ = "position " + std::to_string(where + 1) + ": expected " + expected + ", got " +
             (where < text_.size() ? "\"" + text_.substr(where, end - where) + "\"" : std::string("the end"));
    return false;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    skip();
    return true;
  }
  bool expect(char c, const std::string& what) { return take(c) || fail(at_, what); }
  std::string word() {
    skip();
    size_t from = at_;
    while (at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z') ++at_;
    return text_.substr(from, at_ - from);
  }
  bool whole(uint64_t low, uint64_t high, uint64_t* out) {
    skip();
    size_t from = at_;
    uint64_t value = 0;
    bool fits = true;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      uint64_t digit = static_cast<uint64_t>(text_[at_] - '0');
      fits = fits && value <= (UINT64_MAX - digit) / 10;
      value = value * 10 + digit;
      ++at_;
    }
    if (from == at_ || !fits || value < low || value > high) return fail(from, whole_number(low, high));
    *out = value;
    return true;
  }
  static std::string whole_number(uint64_t low, uint64_t high) {
    if (high == UINT64_MAX) return "a whole number";
    return "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  }
  // Digits, a point, an exponent; strtod alone would also take "inf", "nan" and hexadecimal.
  bool real(const char* what, double low, double high, double* out) {
    skip();
    size_t from = at_;
    auto digits = [&] {
      while (at_ < text_.size() && ((text_[at_] >= '0' && text_[at_] <= '9') || text_[at_] == '.')) ++at_;
    };
    digits();
    if (at_ > from && at_ < text_.size() && text_[at_] == 'e') {
      size_t mark = at_++;
      if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
      size_t exponent = at_;
      digits();
      if (exponent == at_) at_ = mark;
    }
    std::string number = text_.substr(from, at_ - from);
    char* end = nullptr;
    *out = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !std::isfinite(*out) || *out < low || *out > high) return fail(from, what);
    return true;
  }
  bool probability(double* out) { return real("a probability from 0 to 1", 0, 1, out); }
  bool duration(Duration* out) {
    double value;
    size_t from = at_;
    if (!real("a time such as 200us or 2s", 0, 1e9, &value)) return false;
    size_t unit_at = at_;
    std::string unit = word();
    double scale = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
    if (scale == 0) return fail(unit_at, "a unit of time: ns, us, ms or s");
    if (value * scale > 1e18) return fail(from, "a time of at most 1e9 s");
    *out = Duration::nanoseconds(static_cast<int64_t>(value * scale + 0.5));
    return true;
  }

  bool clause(FaultPlan* plan) {
    FaultRule scope;
    size_t from = at_;
    std::string name = word();
    if (name == "seed") {
      return expect('=', "'='") && whole(0, UINT64_MAX, &plan->seed);
    }
    if (name == "plane" || name == "ev") {
      scope.scope = name == "plane" ? FaultRule::Scope::kPlane : FaultRule::Scope::kEv;
      if (!range(&scope) || !expect(':', "':'")) return false;
    } else {
      at_ = from;
      first_of_clause_ = true;
    }
    do {
      FaultRule rule = scope;
      if (!action(&rule)) return false;
      plan->rules.push_back(rule);
      first_of_clause_ = false;
    } while (take(','));
    return true;
  }

  // "=N", "=N-N" or "=*"; planes count from 1 for users.
  bool range(FaultRule* rule) {
    bool plane = rule->scope == FaultRule::Scope::kPlane;
    if (!expect('=', "'='")) return false;
    if (take('*')) return true;
    uint64_t low_limit = plane ? 1 : 0;
    uint64_t high_limit = plane ? 32 : 65535;
    uint64_t low = 0;
    size_t at = at_;
    if (!whole(low_limit, high_limit, &low)) return fail(at, "'*' or " + whole_number(low_limit, high_limit));
    uint64_t high = low;
    if (take('-') && !whole(low, high_limit, &high)) return false;
    rule->low = static_cast<uint32_t>(low - low_limit);
    rule->high = static_cast<uint32_t>(high - low_limit);
    return true;
  }

  bool action(FaultRule* rule) {
    skip();
    size_t from = at_;
    std::string name = word();
    bool known = false;
    for (const ActionName& each : kNames) {
      if (name != each.name) continue;
      rule->kind = each.kind;
      known = true;
    }
    if (!known)
      return fail(from, std::string(first_of_clause_ ? "plane=, ev=, seed= or one of " : "one of ") + kActions);
    if (rule->kind != FaultKind::kBlackhole) {
      if (!expect('=', "'='")) return false;
      if (rule->kind == FaultKind::kDelay) {
        if (!duration(&rule->delay)) return false;
        rule->delay_max = rule->delay;
        size_t second = at_ + 1;
        if (take('/') && (!duration(&rule->delay_max))) return false;
        if (rule->delay_max < rule->delay) return fail(second, "a delay not below the first");
      } else if (!probability(&rule->probability)) {
        return false;
      }
      if (rule->kind == FaultKind::kBurstLoss) {
        uint64_t run;
        if (!expect('/', "'/' and the number of packets in a row") || !whole(1, 1000000, &run)) return false;
        rule->run = static_cast<uint32_t>(run);
      }
    }
    if (!take('@')) return true;
    if (!duration(&rule->from) || !expect('-', "'-'")) return false;
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ';') {
      size_t second = at_;
      if (!duration(&rule->to)) return false;
      if (rule->to <= rule->from) return fail(second, "a time after the first");
    }
    return true;
  }

  const std::string& text_;
  size_t at_ = 0;
  bool first_of_clause_ = false;
  std::string error_;
};

}  // namespace

Result<std::shared_ptr<const FaultPlan>> parse_fault(const std::string& text) {
  auto plan = std::make_shared<FaultPlan>();
  Parser parser(text);
  if (parser.parse(plan.get())) return plan;
  return invalid("MRC_FAULT " + parser.error());
}

const char* fault_help() {
  return R"(MRC_FAULT damages what this process sends, drawn from a seed; set it at both ends for both directions.

  MRC_FAULT="[SCOPE:]ACTION[,ACTION...][;...]"

  SCOPE    plane=1, plane=2-4, plane=*    planes count from 1
           ev=3, ev=0-15, ev=*            index in the table of EVs, from 0; no scope: every packet
  ACTION   loss=P          drop packets with probability P (0 to 1; 1e-6 is fine)
           burstloss=P/N   drop N packets in a row, starting with probability P
           dup=P           duplicate packets
           reorder=P       let one to four later bursts (or 1 ms) pass first
           delay=D[/D]     delay by D, or by a random time between the two (units ns, us, ms, s)
           corrupt=P       flip one bit
           ecn=P           mark congestion experienced, if the packet is ECN-capable
           trim=P          cut the payload of data packets and set the TRIMMED code point, as a switch does
           blackhole       drop everything
           each may end in @FROM-[TO]: only in that time, counted from the first burst that this process sends
  seed=N   seed of the random numbers (1)

  MRC_FAULT="plane=2:blackhole@2s-5s"
  MRC_FAULT="plane=*:loss=0.001;ev=3:dup=0.01,reorder=0.02,delay=200us;corrupt=1e-6;burstloss=0.001/8;seed=7"
)";
}

}  // namespace mrc::datapath
