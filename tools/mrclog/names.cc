#include "names.h"

#include <algorithm>

#include "core/trace_text.h"

namespace mrc::log {

namespace {

// Number of single-character edits between two words.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> event_names() {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < core::kTraceEvents; ++i)
    names.push_back(core::trace_event_info(static_cast<core::TraceEvent>(i)).name);
  names.push_back("events_lost");  // the writer's own, not the engine's
  return names;
}

std::vector<std::string> trigger_names() {
  std::vector<std::string> names;
  for (uint32_t i = 1; i < core::kTraceTriggers; ++i)
    names.push_back(core::trace_trigger_name(static_cast<core::TraceTrigger>(i)));
  return names;
}

std::string complaint(const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  const auto nearest = std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return distance(name, a) < distance(name, b);
  });
  return "there is no '" + name + "', did you mean '" + *nearest + "'? `mrclog events` lists all";
}

}  // namespace mrc::log
