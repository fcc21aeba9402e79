#include "sim/helper/trace_writer.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "core/trace_text.h"

namespace mrc::sim {
namespace {

constexpr size_t kHeld = 256 * 1024;  // bytes per NIC between two writes; files are open only while they are written
constexpr char kRecordSeparator = '\x1e';

std::string header(const std::string& title, uint32_t nic) {
  using nlohmann::json;
  const json common = {{"time_format", "relative_to_epoch"},
                       {"reference_time", {{"clock_type", "simulated"}, {"epoch", "unknown"}}}};
  const json trace = {{"title", title},
                      {"common_fields", common},
                      {"vantage_point", {{"name", "NIC " + std::to_string(nic)}, {"type", "unknown"}}},
                      {"event_schemas", {"urn:mrc:qlog:events:1"}}};
  const json whole = {{"file_schema", "urn:ietf:params:qlog:file:sequential"},
                      {"serialization_format", "application/qlog+json-seq"},
                      {"title", "MRC engine events"},
                      {"trace", trace}};
  return kRecordSeparator + whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

TraceWriter::TraceWriter(std::string folder, std::string title)
    : folder_(std::move(folder)), title_(std::move(title)) {}

std::string TraceWriter::file_name(uint32_t nic) {
  char name[32];
  std::snprintf(name, sizeof(name), "nic-%04u.sqlog", nic);
  return name;
}

void TraceWriter::add(uint32_t nic, const core::TraceEntry& entry) {
  if (files_.size() <= nic) files_.resize(nic + 1);
  File& f = files_[nic];
  if (!f.begun && f.held.empty()) f.held = header(title_, nic);
  char text[core::kTraceJsonRoom];
  f.held += kRecordSeparator;
  f.held.append(text, core::write_trace_json(text, entry));
  f.held += '\n';
  if (f.held.size() > kHeld) flush(nic);
}

void TraceWriter::flush(uint32_t nic) {
  File& f = files_[nic];
  const std::string path = folder_ + "/" + file_name(nic);
  std::FILE* out = std::fopen(path.c_str(), f.begun ? "ab" : "wb");
  const bool written = out != nullptr && std::fwrite(f.held.data(), 1, f.held.size(), out) == f.held.size();
  if ((out != nullptr && std::fclose(out) != 0) || !written) throw std::runtime_error(path + " cannot be written");
  f.begun = true;
  f.held.clear();
}

void TraceWriter::finish() {
  for (uint32_t nic = 0; nic < files_.size(); ++nic)
    if (!files_[nic].held.empty()) flush(nic);
}

}  // namespace mrc::sim
