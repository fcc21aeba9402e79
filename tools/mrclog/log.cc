#include "log.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace mrc::log {

namespace {

using nlohmann::json;

constexpr char kRecordSeparator = '\x1e';
constexpr double kNsPerMs = 1e6;

// Events of an EV without its plane (SACKs, received packets) are filtered by the plane that other events give it.
void learn_planes(Log* log) {
  for (const Event& e : log->events) {
    const auto ev = e.maybe("ev"), plane = e.maybe("plane");
    if (plane) log->planes.insert(*plane);
    if (ev && plane) log->planes_of_ev[*ev].insert(*plane);
  }
}

void add_record(Log* log, const std::string& text) {
  json record = json::parse(text, nullptr, false);
  if (record.is_object() && record.contains("file_schema")) {
    log->header = std::move(record);
    return;
  }
  if (!record.is_object() || !record.contains("time") || !record["time"].is_number() || !record.contains("name") ||
      !record["name"].is_string() || !record.contains("data") || !record["data"].is_object()) {
    ++log->damaged;
    return;
  }
  Event e;
  e.at_ns = static_cast<int64_t>(std::llround(record["time"].get<double>() * kNsPerMs));
  e.name = record["name"].get<std::string>();
  if (e.name.rfind("mrc:", 0) == 0) e.name.erase(0, 4);
  e.data = std::move(record["data"]);
  if (const auto found = e.data.find("trigger"); found != e.data.end() && found->is_string()) {
    e.trigger = found->get<std::string>();
    e.data.erase(found);
  }
  if (e.name == "events_lost") log->lost += e.number("count");
  log->events.push_back(std::move(e));
}

template <typename T>
bool one_of(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

}  // namespace

std::optional<uint64_t> Event::maybe(const char* field) const {
  const auto found = data.find(field);
  if (found == data.end() || !found->is_number()) return std::nullopt;
  if (found->is_number_unsigned()) return found->get<uint64_t>();
  const auto value = found->get<double>();
  if (!(value >= 0 && value < 0x1p64)) return std::nullopt;  // a file may hold anything
  return static_cast<uint64_t>(value);
}

uint64_t Event::number(const char* field) const {
  return maybe(field).value_or(0);
}

// Source ports are those that were free on the address of a plane, so two planes may well have the same.
std::optional<uint64_t> Log::plane_of(uint64_t ev) const {
  const auto found = planes_of_ev.find(ev);
  if (found == planes_of_ev.end() || found->second.size() != 1) return std::nullopt;
  return *found->second.begin();
}

std::string Log::planes_text() const {
  std::string text;
  for (uint64_t plane : planes) text += (text.empty() ? "planes " : ", ") + std::to_string(plane + 1);
  return text.empty() ? "none" : text;
}

Log read_log(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (const int error = errno; !in) throw std::runtime_error(path + ": cannot be read: " + std::strerror(error));
  Log log;
  log.path = path;
  std::string record;
  std::getline(in, record, kRecordSeparator);  // text before the first separator is no record
  while (std::getline(in, record, kRecordSeparator)) add_record(&log, record);
  if (!log.header.is_object())
    throw std::runtime_error(path + ": no MRC trace: the header record is missing. Traces are made by MRC_TRACE=FILE");
  // Several queue pairs share one clock, yet one call may end with a time read before that of the next.
  std::stable_sort(log.events.begin(), log.events.end(),
                   [](const Event& a, const Event& b) { return a.at_ns < b.at_ns; });
  learn_planes(&log);
  return log;
}

bool Filter::matches(const Log& log, const Event& e) const {
  if (!one_of(names, e.name) || !one_of(triggers, e.trigger)) return false;
  if (qpn && e.maybe("qpn") != qpn) return false;
  if (ev) {
    const auto value = e.maybe("ev");
    if (!value || !ev->matches(*value)) return false;
  }
  if (psn && e.maybe("psn") != psn) return false;
  if (plane) {
    std::optional<uint64_t> own = e.maybe("plane");
    if (const auto value = e.maybe("ev"); !own && value) own = log.plane_of(*value);
    if (own != plane) return false;
  }
  const double ms = static_cast<double>(e.at_ns - log.begin_ns()) / kNsPerMs;
  return (from_ms < 0 || ms >= from_ms) && (to_ms < 0 || ms <= to_ms);
}

void apply(const Filter& filter, Log* log) {
  std::vector<Event> kept;
  for (Event& e : log->events)
    if (filter.matches(*log, e)) kept.push_back(e);
  log->events = std::move(kept);
}

}  // namespace mrc::log
