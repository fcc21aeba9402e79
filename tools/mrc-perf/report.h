// The report: a JSON value that grows by size, and its printed form.
// {"device","role","transport","options",
//  "sizes":[{"size","messages","seconds","gbps","message_rate","cpu_s_per_gb",.. or "latency":{..}}],
//    of datagrams "sent" and "lost", too, and "messages" are those that arrived; in "latency" "lost" and "repeated"
//  "planes":[..], "evs":[..], "counters":{..}, "losses":[..] (losses.h), "timeline":[..], "ok"}
// Of a run that failed "ok" is false, "error" and "advice" say why, and the last size may have "incomplete": true: what
// this side alone had done. Then there are no "losses", which take both sides' counters.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "connection.h"
#include "report_file.h"
#include "stats.h"

namespace mrc::perf {

nlohmann::json make_report(const Options& o, const std::string& device, int gid_index);
void add_size(nlohmann::json* report, const Options& o, const Plan& plan, bool client, const nlohmann::json& mine,
              const nlohmann::json& theirs);
// Of a run that failed: `mine` is Runner::so_far().
void add_incomplete_size(nlohmann::json* report, const Options& o, const Plan& plan, bool client,
                         const nlohmann::json& mine);
// Of a slice: see tools/lib/slices.h.
nlohmann::json slice_line(const Options& o, const Plan& plan, const nlohmann::json& mine, const nlohmann::json& theirs);
// Counters are those of the device during the last size; path states are those of the first queue pair's peer.
void add_paths(nlohmann::json* report, const Snapshot& before, const Snapshot& after, const QpSnapshot& qp);

void print_size(const nlohmann::json& report,
                std::FILE* out);  // one line, with a head before the first; of a run that failed without a message none
void print_paths(const nlohmann::json& report,
                 std::FILE* out);  // planes, EVs, losses, and the verdict without an error

// --json: throws UsageError when the file cannot be opened, PerfError when it cannot be written.
void open_json(const std::string& name, tools::ReportFile* file);
void write_json(const nlohmann::json& report, const std::string& name, tools::ReportFile* file);

}  // namespace mrc::perf
