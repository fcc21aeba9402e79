// mrclog: reads the traces that MRC_TRACE makes: prints and filters them, sums them up, compares two, draws one.
#include <charconv>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "command_line.h"
#include "compare.h"
#include "core/trace_text.h"
#include "log.h"
#include "names.h"
#include "plot.h"
#include "print.h"
#include "summary.h"

namespace {

using mrc::log::Filter;
using mrc::log::Log;

struct Options {
  std::string file, second, picture;
  bool json = false;
  Filter filter;
  std::string qpn, ev;
  uint64_t plane = 0;
};

void add_filters(CLI::App* app, Options* o) {
  app->add_option("--qp", o->qpn, "only this queue pair (0x... or decimal); 0: events of the whole endpoint");
  const auto among = [](const std::vector<std::string>& known) {
    return [known](const std::string& given) { return mrc::log::complaint(given, known); };
  };
  app->add_option("--event", o->filter.names, "only these events (mrclog events lists them)")
      ->delimiter(',')
      ->check(among(mrc::log::event_names()));
  app->add_option("--why", o->filter.triggers, "only these triggers")
      ->delimiter(',')
      ->check(among(mrc::log::trigger_names()));
  app->add_option("--ev", o->ev, "only this entropy value: source port 49152, flow label 0x0003, or 0x0003:49152");
  app->add_option("--plane", o->plane, "only this plane, from 1")->check(mrc::support::in_range(1, 32));
  app->add_option("--psn", o->filter.psn, "only this packet");
  app->add_option("--from", o->filter.from_ms, "milliseconds after the first event")->check(CLI::NonNegativeNumber);
  app->add_option("--to", o->filter.to_ms, "milliseconds after the first event")->check(CLI::NonNegativeNumber);
}

uint64_t number(const std::string& text, const char* option) {
  const bool hex = text.rfind("0x", 0) == 0 || text.rfind("0X", 0) == 0;
  const char* const end = text.data() + text.size();
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  if (parsed.ec == std::errc() && parsed.ptr == end) return value;
  throw CLI::ValidationError(option, "'" + text + "' is no number");
}

// A plane that no event names is one that the traced device lacks, or never used.
void check_plane(const Log& log, const Options& o) {
  if (!o.filter.plane || log.has_plane(*o.filter.plane)) return;
  throw std::runtime_error(log.path + ": no event is of plane " + std::to_string(o.plane) + "; there are " +
                           log.planes_text());
}

// Nothing is an answer, too, but mostly not the one that was hoped for.
void warn_no_events(const Log& log) {
  std::fprintf(stderr, "mrclog: %s: no event passes the filters\n", log.path.c_str());
}

Log filtered(const std::string& path, const Options& o) {
  Log log = mrc::log::read_log(path);
  if (o.second.empty()) check_plane(log, o);  // of two traces one may well lack it
  mrc::log::apply(o.filter, &log);
  if (log.events.empty()) warn_no_events(log);
  return log;
}

// Adds a note that `what` was truncated, so that readers draw no conclusions from missing entries.
void warn(const Log& log) {
  if (log.lost > 0)
    std::fprintf(stderr, "mrclog: %s: %llu events were lost in the traced process\n", log.path.c_str(),
                 static_cast<unsigned long long>(log.lost));
  if (log.damaged > 0)
    std::fprintf(stderr, "mrclog: %s: %llu records are damaged\n", log.path.c_str(),
                 static_cast<unsigned long long>(log.damaged));
}

int print(const Options& o) {
  const Log whole = mrc::log::read_log(o.file);
  check_plane(whole, o);
  bool any = false;
  for (const mrc::log::Event& e : whole.events) {
    if (!o.filter.matches(whole, e)) continue;
    any = true;
    std::cout << (o.json ? to_json(e).dump() : to_text(e, whole.begin_ns())) << "\n";
  }
  if (!any) warn_no_events(whole);
  warn(whole);
  return 0;
}

int summary(const Options& o) {
  const auto s = mrc::log::summarise(filtered(o.file, o));
  std::cout << (o.json ? to_json(s).dump(2) + "\n" : to_text(s));
  return 0;
}

int compare(const Options& o) {
  const Log a = filtered(o.file, o), b = filtered(o.second, o);
  const auto c = mrc::log::compare(a, b);
  std::cout << (o.json ? to_json(c, a, b).dump(2) + "\n" : to_text(c, a, b));
  return c.same ? 0 : 1;
}

int plot(const Options& o) {
  const Log log = filtered(o.file, o);
  std::ofstream out(o.picture);
  out << mrc::log::draw(log);
  out.close();
  if (!out) throw std::runtime_error(o.picture + ": cannot be written");
  warn(log);
  return 0;
}

int events(const Options& o) {
  nlohmann::json all = {{"events", nlohmann::json::array()}, {"triggers", nlohmann::json::array()}};
  for (uint32_t i = 0; i < mrc::core::kTraceEvents; ++i) {
    const auto& info = mrc::core::trace_event_info(static_cast<mrc::core::TraceEvent>(i));
    nlohmann::json fields = nlohmann::json::array();
    for (const auto& f : info.fields)
      if (f.name[0] != '\0') fields.push_back(std::string(f.name) + (f.kind == mrc::core::TraceKind::kNs ? "_ns" : ""));
    all["events"].push_back({{"name", info.name}, {"meaning", info.sentence}, {"fields", fields}});
  }
  for (uint32_t i = 1; i < mrc::core::kTraceTriggers; ++i) {
    const auto trigger = static_cast<mrc::core::TraceTrigger>(i);
    all["triggers"].push_back(
        {{"name", mrc::core::trace_trigger_name(trigger)}, {"meaning", mrc::core::trace_trigger_sentence(trigger)}});
  }
  if (o.json) {
    std::cout << all.dump(2) << "\n";
    return 0;
  }
  for (const auto& e : all["events"]) {
    std::string fields;
    for (const auto& f : e["fields"]) fields += " " + f.get<std::string>();
    std::printf("%-22s %s:%s\n", e["name"].get<std::string>().c_str(), e["meaning"].get<std::string>().c_str(),
                fields.c_str());
  }
  std::printf("\n");
  for (const auto& t : all["triggers"])
    std::printf("%-22s %s\n", t["name"].get<std::string>().c_str(), t["meaning"].get<std::string>().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Reads traces of the MRC engine: every decision with its reason. Make one with: MRC_TRACE=FILE program"};
  app.require_subcommand(1);
  app.fallthrough();
  Options o;
  app.add_flag("--json", o.json, "for programs");
  int (*action)(const Options&) = nullptr;
  const auto command = [&](const char* name, const char* text, int (*function)(const Options&)) {
    CLI::App* sub = app.add_subcommand(name, text);
    sub->callback([&action, function] { action = function; });
    return sub;
  };
  CLI::App* subs[] = {command("print", "one line per event", print),
                      command("summary", "counts, paths, windows, round trips", summary),
                      command("compare", "two traces; exit 1 when their decisions differ", compare),
                      command("plot", "a picture (SVG) over time", plot)};
  for (CLI::App* sub : subs) {
    sub->add_option("FILE", o.file, "the trace")->required();
    add_filters(sub, &o);
  }
  subs[2]->add_option("SECOND", o.second, "the other trace")->required();
  subs[3]->add_option("PICTURE", o.picture, "where to write it")->required();
  command("events", "all events and triggers with their meaning", events);
  if (const auto status = mrc::support::parse_command_line(&app, "mrclog", argc, argv)) return *status;
  try {
    if (!o.qpn.empty()) o.filter.qpn = number(o.qpn, "--qp");
    if (!o.ev.empty() && !(o.filter.ev = mrc::log::parse_ev(o.ev)))
      throw CLI::ValidationError("--ev", "'" + o.ev + "' is no EV: 49152, 0x0003 or 0x0003:49152");
    if (o.plane != 0) o.filter.plane = o.plane - 1;
    if (o.filter.from_ms >= 0 && o.filter.to_ms >= 0 && o.filter.from_ms > o.filter.to_ms)
      throw CLI::ValidationError("--from", "it is later than --to");
  } catch (const CLI::ParseError& e) {
    return mrc::support::report_parse_error(app, "mrclog", e);
  }
  try {
    return action(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrclog: %s\n", e.what());
    return 2;
  }
}
