#include "names.h"

#include <algorithm>

#include "base/nearest.h"
#include "core/trace_text.h"

namespace mrc::log {

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
  const std::string meant = nearest(name, known);
  return "there is no '" + name + "'" + (meant.empty() ? "; " : ", did you mean '" + meant + "'? ") +
         "`mrclog events` lists all";
}

}  // namespace mrc::log
