// A trace file in memory: the header record and the events, read from JSON text sequences (RFC 7464) in qlog's shape
// (spec/trace.md). Times are nanoseconds of the traced host's monotonic clock.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ev.h"

namespace mrc::log {

struct Event {
  int64_t at_ns = 0;
  std::string name;     // without "mrc:"
  std::string trigger;  // empty: none
  nlohmann::json data;  // the rest, "qpn" included

  uint64_t number(const char* field) const;  // 0 when absent
  std::optional<uint64_t> maybe(const char* field) const;
};

struct Log {
  std::string path;
  nlohmann::json header;
  std::vector<Event> events;
  std::map<uint64_t, std::set<uint64_t>> planes_of_ev;  // from the events that name both
  uint64_t damaged = 0;                                 // records that are no JSON: the writer was killed within one
  uint64_t lost = 0;                                    // events that the traced process could not keep
  std::set<uint64_t> planes;                            // that events name, from 0
  bool has_plane(uint64_t plane) const { return planes.count(plane) != 0; }
  std::string planes_text() const;  // "planes 1, 2", for people
  // None for an EV that several planes have, or that no event contains.
  std::optional<uint64_t> plane_of(uint64_t ev) const;
  int64_t begin_ns() const { return events.empty() ? 0 : events.front().at_ns; }
  int64_t end_ns() const { return events.empty() ? 0 : events.back().at_ns; }
};

// Throws std::runtime_error with one sentence for a file that cannot be read or contains no trace.
Log read_log(const std::string& path);

// Filter; unset fields match everything.
struct Filter {
  std::optional<uint64_t> qpn, plane, psn;
  std::optional<EvFilter> ev;
  std::vector<std::string> names, triggers;
  double from_ms = -1, to_ms = -1;  // since the first event

  bool matches(const Log& log, const Event& e) const;
};

void apply(const Filter& filter, Log* log);

}  // namespace mrc::log
