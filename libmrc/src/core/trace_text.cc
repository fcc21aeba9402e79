#include "core/trace_text.h"

#include <charconv>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "core/congestion/control.h"
#include "core/status.h"
#include "core/types.h"
#include "wire/neth.h"
#include "wire/packet.h"

namespace mrc::core {
namespace {

constexpr const char* kEvStates[] = {"good", "skip", "assumed_bad", "denied"};
static_assert(static_cast<int>(EvState::kDenied) == 3);
constexpr const char* kQpStates[] = {"reset", "init", "rtr", "rts", "error"};
static_assert(static_cast<int>(QpState::kError) == 4);
constexpr const char* kWcStatuses[] = {"success",       "local_protection", "flushed",        "remote_invalid_request",
                                       "remote_access", "remote_operation", "retry_exceeded", "path_mtu"};
static_assert(static_cast<int>(WcStatus::kPathMtu) == 7);
// One per bit of WindowStep, lowest first.
constexpr const char* kBranches[] = {"proportional", "fast",    "fair",    "no_op",     "decrease_asked",
                                     "decrease_cut", "fulfil",  "eta",     "trim_cut",  "quick_adapt",
                                     "ignored",      "penalty", "restore", "no_sample", "loss_cut"};
static_assert(kStepLossCut == 1 << 14);

template <typename T>
constexpr TraceKind kind_of() {
  if constexpr (std::is_same_v<T, Hex>) return TraceKind::kHex;
  if constexpr (std::is_same_v<T, Duration>) return TraceKind::kNs;
  if constexpr (std::is_same_v<T, int64_t>) return TraceKind::kSigned;
  if constexpr (std::is_same_v<T, EvState>) return TraceKind::kEvState;
  if constexpr (std::is_same_v<T, QpState>) return TraceKind::kQpState;
  if constexpr (std::is_same_v<T, WcStatus>) return TraceKind::kWcStatus;
  if constexpr (std::is_same_v<T, wire::NackReason> || std::is_same_v<T, DropReason>) return TraceKind::kReason;
  if constexpr (std::is_same_v<T, WindowSteps>) return TraceKind::kBranches;
  if constexpr (std::is_same_v<T, bool>) return TraceKind::kYesNo;
  return TraceKind::kNumber;
}

template <typename Event>
constexpr TraceEventInfo info_of(const char* name, const char* sentence) {
  TraceEventInfo info{name, sentence, {}};
  size_t i = 0;
  Event().for_each([&]<typename T>(const char* field, const T&) { info.fields[i++] = {field, kind_of<T>()}; });
  return info;
}

constexpr TraceEventInfo kEvents[] = {
#define MRC_TRACE_INFO(Name, name, sentence, ...) info_of<event::Name>(name, sentence),
    MRC_TRACE_EVENTS(MRC_TRACE_INFO)
#undef MRC_TRACE_INFO
};

struct TriggerInfo {
  const char* name;
  const char* sentence;
};
constexpr TriggerInfo kTriggers[] = {
#define MRC_TRACE_INFO(enumerator, name, sentence) {name, sentence},
    MRC_TRACE_TRIGGERS(MRC_TRACE_INFO)
#undef MRC_TRACE_INFO
};

class Text {
 public:
  explicit Text(char* out) : begin_(out), p_(out) {}
  void add(const char* s) {
    const size_t n = std::strlen(s);
    std::memcpy(p_, s, n);
    p_ += n;
  }
  template <typename Integer>
  void number(Integer v) {
    p_ = std::to_chars(p_, p_ + 20, v).ptr;
  }
  void hex(uint64_t v) {
    add("\"0x");
    p_ = std::to_chars(p_, p_ + 16, v, 16).ptr;
    add("\"");
  }
  // Nanoseconds as milliseconds with six decimals.
  void milliseconds(int64_t ns) {
    if (ns < 0) add("-");
    const uint64_t v = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    number(v / 1000000);
    add(".");
    char digits[8];
    const auto fraction = static_cast<uint32_t>(v % 1000000);
    const auto n = static_cast<size_t>(std::to_chars(digits, digits + 8, fraction).ptr - digits);
    std::memset(p_, '0', 6 - n);
    std::memcpy(p_ + 6 - n, digits, n);
    p_ += 6;
  }
  void word(const char* s) {
    add("\"");
    add(s);
    add("\"");
  }
  template <size_t N>
  void one_of(const char* const (&names)[N], uint64_t v) {
    if (v < N) {
      word(names[v]);
    } else {
      number(v);
    }
  }
  void branches(uint64_t v) {
    add("[");
    for (size_t i = 0, written = 0; i < std::size(kBranches); ++i) {
      if (((v >> i) & 1) == 0) continue;
      if (written++ != 0) add(",");
      word(kBranches[i]);
    }
    add("]");
  }
  size_t size() const { return static_cast<size_t>(p_ - begin_); }

 private:
  char* begin_;
  char* p_;
};

void write_value(Text* t, TraceKind kind, uint64_t v, TraceTrigger trigger) {
  switch (kind) {
    case TraceKind::kNumber:
    case TraceKind::kNs:
      return t->number(v);
    case TraceKind::kSigned:
      return t->number(static_cast<int64_t>(v));
    case TraceKind::kHex:
      return t->hex(v);
    case TraceKind::kEvState:
      return t->one_of(kEvStates, v);
    case TraceKind::kQpState:
      return t->one_of(kQpStates, v);
    case TraceKind::kWcStatus:
      return t->one_of(kWcStatuses, v);
    case TraceKind::kReason:
      return t->word(trigger == TraceTrigger::kUndecodable ? wire::decode_error_name(static_cast<wire::DecodeError>(v))
                     : trigger == TraceTrigger::kIcrc      ? "wrong ICRC"
                                                           : wire::nack_reason_name(static_cast<wire::NackReason>(v)));
    case TraceKind::kBranches:
      return t->branches(v);
    case TraceKind::kYesNo:
      return t->add(v != 0 ? "true" : "false");
  }
}

}  // namespace

const TraceEventInfo& trace_event_info(TraceEvent event) {
  return kEvents[static_cast<size_t>(event)];
}

const char* trace_trigger_name(TraceTrigger trigger) {
  return kTriggers[static_cast<size_t>(trigger)].name;
}

const char* trace_trigger_sentence(TraceTrigger trigger) {
  return kTriggers[static_cast<size_t>(trigger)].sentence;
}

size_t write_trace_json(char* out, const TraceEntry& e) {
  const TraceEventInfo& info = trace_event_info(e.event);
  Text t(out);
  t.add("{\"time\":");
  t.milliseconds(e.at.ns());
  t.add(",\"name\":\"mrc:");
  t.add(info.name);
  t.add("\",\"data\":{\"qpn\":");
  t.number(e.qpn.value());
  for (size_t i = 0; i < e.numbers.size(); ++i) {
    if (info.fields[i].name[0] == '\0') continue;
    t.add(",\"");
    t.add(info.fields[i].name);
    if (info.fields[i].kind == TraceKind::kNs) t.add("_ns");
    t.add("\":");
    write_value(&t, info.fields[i].kind, e.numbers[i], e.trigger);
  }
  if (e.trigger != TraceTrigger::kNone) {
    t.add(",\"trigger\":");
    t.word(trace_trigger_name(e.trigger));
  }
  t.add("}}");
  return t.size();
}

size_t write_trace_lost_json(char* out, Instant at, uint64_t count) {
  Text t(out);
  t.add("{\"time\":");
  t.milliseconds(at.ns());
  t.add(",\"name\":\"mrc:events_lost\",\"data\":{\"count\":");
  t.number(count);
  t.add("}}");
  return t.size();
}

}  // namespace mrc::core
