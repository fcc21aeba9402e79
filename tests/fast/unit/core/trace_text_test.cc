// Trace entries as JSON: every event and trigger under its name, every number under its own, readable by any JSON
// parser.
#include "core/trace_text.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/congestion/control.h"
#include "core/status.h"
#include "wire/neth.h"
#include "wire/packet.h"

namespace mrc::core {
namespace {

using nlohmann::json;

json parsed(const TraceEntry& e) {
  char text[kTraceJsonRoom];
  return json::parse(text, text + write_trace_json(text, e));
}

template <typename Event>
json parsed(TraceTrigger why, const Event& e) {
  return parsed(TraceEntry::of(Instant::from_ns(1234567890123456), Qpn(0x101), why, e));
}

bool snake_case(const char* s) {
  for (; *s != '\0'; ++s)
    if (!std::islower(static_cast<unsigned char>(*s)) && *s != '_') return false;
  return true;
}

TEST(TraceText, every_event_has_name_sentence_and_distinct_fields) {
  std::set<std::string> names;
  for (uint32_t i = 0; i < kTraceEvents; ++i) {
    const TraceEventInfo& info = trace_event_info(static_cast<TraceEvent>(i));
    EXPECT_TRUE(names.insert(info.name).second && snake_case(info.name)) << info.name;
    EXPECT_GT(std::strlen(info.sentence), 5u) << info.name;
    std::set<std::string> fields = {"qpn", "trigger"};
    for (const TraceField& f : info.fields) {
      if (f.name[0] == '\0') continue;
      EXPECT_TRUE(fields.insert(f.name).second && snake_case(f.name)) << info.name << " " << f.name;
    }
  }
}

TEST(TraceText, every_trigger_has_name_and_sentence) {
  std::set<std::string> names;
  for (uint32_t i = 0; i < kTraceTriggers; ++i) {
    const auto trigger = static_cast<TraceTrigger>(i);
    EXPECT_TRUE(names.insert(trace_trigger_name(trigger)).second && snake_case(trace_trigger_name(trigger)));
    EXPECT_EQ(trace_trigger_sentence(trigger)[0] == '\0', trigger == TraceTrigger::kNone);
  }
}

TEST(TraceText, every_event_is_json_whatever_the_numbers) {
  for (uint32_t i = 0; i < kTraceEvents; ++i)
    for (uint32_t t = 0; t < kTraceTriggers; ++t)
      for (uint64_t v : {uint64_t{0}, uint64_t{1}, uint64_t{255}, uint64_t{0x7FFF}, UINT64_MAX}) {
        const auto event = static_cast<TraceEvent>(i);
        char text[kTraceJsonRoom];
        const size_t n = write_trace_json(
            text, {Instant::from_ns(1234567890123456), {v, v, v, v}, Qpn(0x101), event, static_cast<TraceTrigger>(t)});
        ASSERT_LE(n, sizeof(text) / 2) << "room to spare";
        const json e = json::parse(text, text + n);
        EXPECT_EQ(e["name"], std::string("mrc:") + trace_event_info(event).name);
        size_t fields = 1 + (t != 0);
        for (const TraceField& f : trace_event_info(event).fields) fields += f.name[0] != '\0';
        EXPECT_EQ(e["data"].size(), fields);
      }
}

TEST(TraceText, numbers_and_words) {
  constexpr auto kNone = TraceTrigger::kNone;
  EXPECT_EQ(
      parsed(kNone, event::TxData{.psn = Psn(16777215), .ev = 0x0001c000, .plane = 3_plane, .size = 4160})["data"],
      json::parse(R"({"qpn":257,"psn":16777215,"ev":114688,"plane":3,"size":4160})"));
  EXPECT_EQ(
      parsed(kNone,
             event::RxSack{.cack = Psn(7), .bitmap = 0x8000000000000001, .base = Psn(8), .ev = 9})["data"]["bitmap"],
      "0x8000000000000001");
  const json lost =
      parsed(TraceTrigger::kOvertaken,
             event::Lost{.psn = Psn(5), .ev = 6, .plane = 1_plane, .age = Duration::microseconds(120)})["data"];
  EXPECT_EQ(lost["age_ns"], 120000);
  EXPECT_EQ(lost["trigger"], "overtaken");
  EXPECT_EQ(parsed(TraceTrigger::kTimedOut, event::EvState{.ev = 5, .state = EvState::kAssumedBad})["data"]["state"],
            "assumed_bad");
  EXPECT_EQ(parsed(TraceTrigger::kFatal,
                   event::QpState{.state = QpState::kError, .cause = WcStatus::kRetryExceeded})["data"]["cause"],
            "retry_exceeded");
  EXPECT_EQ(parsed(TraceTrigger::kMarked, event::Cwnd{.branches = {kStepFair | kStepQuickAdapt}})["data"]["branches"],
            json({"fair", "quick_adapt"}));
  EXPECT_EQ(parsed(TraceTrigger::kSack, event::Cwnd{.inflight = -192})["data"]["inflight"], -192);
  EXPECT_EQ(parsed(kNone, event::Complete{.wr_id = UINT64_MAX})["data"]["wr_id"], UINT64_MAX);
  EXPECT_EQ(parsed(kNone, event::Complete{.receive = true})["data"]["receive"], true);
}

TEST(TraceText, why_a_packet_was_dropped_or_rejected) {
  EXPECT_EQ(parsed(TraceTrigger::kUndecodable, event::Drop{.reason = wire::DecodeError::kShortMeth})["data"]["reason"],
            "short METH");
  EXPECT_EQ(parsed(TraceTrigger::kIcrc, event::Drop{})["data"]["reason"], "wrong ICRC");
  EXPECT_EQ(parsed(TraceTrigger::kOutside, event::Drop{.reason = wire::NackReason::kPsnOorWindow})["data"]["reason"],
            "PSN_OOR_WINDOW");
  EXPECT_EQ(
      parsed(TraceTrigger::kNone, event::RxNack{.psn = Psn(1), .reason = wire::NackReason::kTrimmed})["data"]["reason"],
      "TRIMMED");
}

// The record of an event is read back as the same event and as no other one.
TEST(TraceText, events_come_back) {
  const event::Lost lost{.psn = Psn(5), .ev = 6, .plane = 1_plane, .age = Duration::nanoseconds(-7)};
  const TraceEntry entry = TraceEntry::of(Instant(), Qpn(3), TraceTrigger::kOvertaken, lost);
  EXPECT_EQ(entry.get<event::Lost>(), lost);
  EXPECT_EQ(entry.get<event::Timeout>(), std::nullopt);
  const event::Cwnd window{.cwnd = UINT64_MAX, .inflight = -192, .rtt = Duration::microseconds(9), .branches = {5}};
  EXPECT_EQ(TraceEntry::of(Instant(), Qpn(0), TraceTrigger::kSack, window).get<event::Cwnd>(), window);
  const event::Drop drop{.reason = wire::NackReason::kNoResource, .psn = Psn(0xFFFFFF)};
  EXPECT_EQ(TraceEntry::of(Instant(), Qpn(0), TraceTrigger::kOutside, drop).get<event::Drop>(), drop);
}

TEST(TraceText, time_keeps_its_nanoseconds) {
  const auto text = [](int64_t ns) {
    char out[kTraceJsonRoom];
    TraceEntry e = TraceEntry::of(Instant(), Qpn(0x101), TraceTrigger::kNone, event::TxAck{});
    e.at = Instant::from_ns(ns);
    const std::string all(out, write_trace_json(out, e));
    return all.substr(8, all.find(',') - 8);
  };
  EXPECT_EQ(text(0), "0.000000");
  EXPECT_EQ(text(1), "0.000001");
  EXPECT_EQ(text(1000000), "1.000000");
  EXPECT_EQ(text(86400000123456), "86400000.123456");
  EXPECT_EQ(text(-1500000), "-1.500000");
}

TEST(TraceText, lost_events_read_like_others) {
  char out[kTraceJsonRoom];
  EXPECT_EQ(std::string(out, write_trace_lost_json(out, Instant::from_ns(2000001), UINT64_MAX)),
            R"({"time":2.000001,"name":"mrc:events_lost","data":{"count":18446744073709551615}})");
}

}  // namespace
}  // namespace mrc::core
