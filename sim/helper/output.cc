#include "sim/helper/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "sim/helper/overview.h"
#include "sim/helper/report.h"
#include "version.h"

namespace mrc::sim {
namespace {

void make_folder(const std::string& path) {
  for (size_t i = 1; i <= path.size(); ++i)
    if (i == path.size() || path[i] == '/')
      if (mkdir(path.substr(0, i).c_str(), 0777) != 0 && errno != EEXIST) throw ConfigError(path + ": cannot be made");
}

std::string number(double v) {
  char out[32];
  std::snprintf(out, sizeof(out), "%.6g", v);
  return out;
}

std::string us_text(Ps t) {
  if (t < 0) return "";
  char out[32];
  std::snprintf(out, sizeof(out), "%.6f", static_cast<double>(t) / kPsPerUs);
  return out;
}

std::string series_csv(const ScenarioSpec& scenario, const RunResult& r) {
  std::string s = "time_us";
  const size_t planes = r.rows.empty() ? 0 : r.rows[0].plane_gbps.size();
  for (size_t p = 0; p < planes; ++p) s += ",plane" + std::to_string(p) + "_gbps";
  s += ",retransmits,trimmed,dropped,marked,queue_t0_nic_bytes,queue_t0_t1_bytes,queue_t1_t0_bytes,assumed_bad_evs";
  for (const WorkloadSpec& w : scenario.workloads) s += "," + w.name + kReceiversColumn;
  s += "\n";
  for (const Row& row : r.rows) {
    s += us_text(row.at);
    for (const double g : row.plane_gbps) absl::StrAppend(&s, ",", number(g));
    for (const uint64_t v : {row.retransmits, row.trimmed, row.dropped, row.marked}) absl::StrAppend(&s, ",", v);
    for (const int64_t q : row.peak_queue) absl::StrAppend(&s, ",", q);
    absl::StrAppend(&s, ",", row.bad_evs);
    for (const double g : row.receivers_gbps) absl::StrAppend(&s, ",", number(g));
    s += "\n";
  }
  return s;
}

std::string messages_csv(const ScenarioSpec& scenario, const RunResult& r) {
  std::string s = "job,src,dst,bytes,times,posted_us,received_us,sent_us,failed\n";
  for (const Op& op : r.graph.ops)
    s += scenario.workloads[op.job].name + "," + std::to_string(op.src) + "," + std::to_string(op.dst) + "," +
         std::to_string(op.bytes) + "," + std::to_string(op.progress.repeats) + "," + us_text(op.progress.posted) +
         "," + us_text(op.progress.received) + "," + us_text(op.progress.sent) + "," +
         (op.progress.failed ? "1" : "0") + "\n";
  return s;
}

std::string links_csv(const RunResult& r) {
  std::string s = "link,lost,dropped,trimmed,marked,max_queue_bytes\n";
  for (const LinkRecord& l : r.links)
    s += l.name + "," + std::to_string(l.lost) + "," + std::to_string(l.dropped) + "," + std::to_string(l.trimmed) +
         "," + std::to_string(l.marked) + "," + std::to_string(l.max_queue) + "\n";
  return s;
}

std::string faults_csv(const RunResult& r) {
  std::string s = "time_us,what\n";
  for (const FaultMark& m : r.marks) s += us_text(m.at) + "," + m.text + "\n";
  return s;
}

std::string ev_csv(const RunResult& r) {
  std::string s = "time_us";
  for (const std::string& row : r.ev_map.rows) absl::StrAppend(&s, ",", row);
  s += "\n";
  for (size_t i = 0; i < r.ev_map.columns.size() && i < r.rows.size(); ++i) {
    s += us_text(r.rows[i].at);
    for (const float v : r.ev_map.columns[i])
      absl::StrAppend(&s, ",", v < 0 ? std::string() : number(static_cast<double>(v)));
    s += "\n";
  }
  return s;
}

}  // namespace

void write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + "." + std::to_string(getpid()) + ".part";
  {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    if (!out) throw ConfigError(path + ": cannot be written");
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) throw ConfigError(path + ": cannot be written");
}

std::string Output::point_folder(size_t index) const {
  char name[16];
  std::snprintf(name, sizeof(name), "%03zu", index);
  return folder_ + "/points/" + name;
}

void Output::begin(const ScenarioFile& file, const std::vector<size_t>& mine) {
  namespace fs = std::filesystem;
  const std::string kept = folder_ + "/scenario.yaml";
  const bool used = fs::exists(folder_ + "/points") && fs::exists(kept);
  make_folder(folder_ + "/points");
  if (used) {
    std::vector<fs::path> old = {folder_ + "/summary.json", folder_ + "/report.html"};
    if (read_file(kept, kMaxDataFile) != file.text)
      for (const auto& entry : fs::directory_iterator(folder_))
        if (entry.path().extension() == ".svg") old.push_back(entry.path());
    for (const auto& entry : fs::directory_iterator(folder_ + "/points")) {
      const std::string name = entry.path().filename();
      const bool number = std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (number && std::strtoull(name.c_str(), nullptr, 10) >= file.points.size()) old.push_back(entry.path());
    }
    for (const size_t i : mine) old.push_back(point_folder(i));
    for (const fs::path& path : old) {
      std::error_code another_process_was_first;
      fs::remove_all(path, another_process_was_first);
    }
  }
  write_file(folder_ + "/scenario.yaml", file.text);
}

void Output::write_point(const ScenarioFile& file, size_t index, const RunResult& result) {
  const Point& p = file.points[index];
  const std::string folder = point_folder(index);
  make_folder(folder);
  Json summary;
  summary["point"] = Json::object();
  for (const auto& [key, value] : p.params) summary["point"][key] = value;
  summary["label"] = p.label();
  for (const auto& [key, value] : result.summary.items()) summary[key] = value;
  write_file(folder + "/resolved.yaml", p.resolved);
  write_file(folder + "/series.csv", series_csv(p.spec, result));
  write_file(folder + "/messages.csv", messages_csv(p.spec, result));
  write_file(folder + "/links.csv", links_csv(result));
  write_file(folder + "/faults.csv", faults_csv(result));
  write_file(folder + "/ev_states.csv", ev_csv(result));
  write_file(folder + "/throughput.svg", throughput_chart(result));
  write_file(folder + "/report.html", run_report(p.spec, p.label(), result));
  write_file(folder + "/summary.json", summary.dump(1) + "\n");  // last: marks the point as complete
}

bool Output::has_point(const ScenarioFile& file, size_t index) const {
  const std::string folder = point_folder(index);
  return access((folder + "/summary.json").c_str(), R_OK) == 0 &&
         access((folder + "/resolved.yaml").c_str(), R_OK) == 0 &&
         read_file(folder + "/resolved.yaml", kMaxDataFile) == file.points[index].resolved;
}

std::optional<std::vector<CheckResult>> Output::gather(const ScenarioFile& file) {
  std::vector<Json> summaries;
  for (size_t i = 0; i < file.points.size(); ++i) {
    if (!has_point(file, i)) return std::nullopt;
    summaries.push_back(Json::parse(read_file(point_folder(i) + "/summary.json", kMaxDataFile)));
  }
  std::vector<CheckResult> checks = run_checks(file, summaries);
  sentence_ = overview_sentence(file, summaries);
  Json all;
  all["scenario"] = file.points[0].spec.name;
  all["version"] = support::version();
  all["sentence"] = sentence_;
  all["checks"] = Json::array();
  for (const CheckResult& c : checks)
    all["checks"].push_back({{"text", c.text}, {"passed", c.passed}, {"value", c.value}, {"why", c.why}});
  all["points"] = summaries;
  for (const auto& [name, svg] : sweep_curves(file, summaries)) write_file(folder_ + "/" + name + ".svg", svg);
  const auto series = [&](size_t i) {
    return parse_series(read_file(point_folder(i) + "/series.csv", kMaxDataFile),
                        read_file(point_folder(i) + "/faults.csv", kMaxDataFile));
  };
  for (size_t i = 0; i < file.points.size(); ++i)
    if (const auto& baseline = file.points[i].baseline)
      write_file(point_folder(i) + "/baseline.svg", baseline_chart("Payload received", series(*baseline), series(i)));
  const std::string picture = overview_picture(file, summaries, series);
  if (!picture.empty()) write_file(folder_ + "/picture.svg", picture);
  write_file(folder_ + "/report.html", sweep_report(file, summaries, checks, sentence_, picture));
  write_file(folder_ + "/summary.json", all.dump(1) + "\n");
  return checks;
}

std::vector<std::pair<std::string, Json>> read_points(const std::string& folder) {
  Json all;
  try {
    all = Json::parse(read_file(folder + "/summary.json", kMaxDataFile));
  } catch (const nlohmann::json::exception& e) {
    throw ConfigError(folder + "/summary.json: " + e.what());
  }
  std::vector<std::pair<std::string, Json>> points;
  if (all.contains("points"))
    for (const Json& p : all["points"]) points.push_back({p.value("label", ""), p});
  return points;
}

}  // namespace mrc::sim
