#include "report.h"

#include <cerrno>
#include <cstring>

#include "error.h"
#include "losses.h"
#include "size_text.h"
#include "test_json.h"

namespace mrc::perf {

using nlohmann::json;

json make_report(const Options& o, const std::string& device, int gid_index) {
  return {{"device", device},          {"gid_index", gid_index}, {"role", o.is_server() ? "server" : "client"},
          {"test", test_name(o.test)}, {"op", op_name(o.op)},    {"options", test_to_json(o)},
          {"sizes", json::array()}};
}

void add_size(json* report, const Options& o, const Plan& plan, bool client, const json& mine, const json& theirs) {
  json entry{{"size", plan.size}, {"depth", plan.depth}, {"signal_every", plan.chunk}};
  const json& of_client = client ? mine : theirs;
  const json& of_server = client ? theirs : mine;
  if (o.test == Test::kLatency) {
    entry["latency"] = of_client;
    (*report)["sizes"].push_back(entry);
    return;
  }
  auto rate = [](const json& side) {
    const double s = side.at("seconds");
    return s > 0 ? side.at("sent").get<double>() / s : 0.0;
  };
  const double size = static_cast<double>(plan.size);
  const double messages_per_s = rate(of_client) + rate(of_server);
  const uint64_t messages = of_client.at("sent").get<uint64_t>() + of_server.at("sent").get<uint64_t>();
  const double gigabytes = static_cast<double>(messages) * size * 1e-9;
  const double cpu = of_client.at("cpu_s").get<double>() + of_server.at("cpu_s").get<double>();
  entry["messages"] = messages;
  entry["bytes"] = messages * plan.size;
  entry["seconds"] = std::max(of_client.at("seconds").get<double>(), of_server.at("seconds").get<double>());
  entry["gbps"] = messages_per_s * size * 8e-9;
  entry["message_rate"] = messages_per_s;
  entry["cpu_s"] = {{"client", of_client.at("cpu_s")}, {"server", of_server.at("cpu_s")}};
  entry["cpu_s_per_gb"] = gigabytes > 0 ? cpu / gigabytes : 0.0;
  if (o.bidirectional)
    entry["gbps_by_direction"] = {{"client_to_server", rate(of_client) * size * 8e-9},
                                  {"server_to_client", rate(of_server) * size * 8e-9}};
  if (o.verify || o.op == Op::kWriteImm) {
    entry["checked"] = of_client.at("checked").get<uint64_t>() + of_server.at("checked").get<uint64_t>();
    entry["mismatches"] = of_client.at("mismatches").get<uint64_t>() + of_server.at("mismatches").get<uint64_t>();
    for (const json* side : {&of_client, &of_server})
      if (const std::string text = side->at("first_mismatch"); !text.empty()) entry["first_mismatch"] = text;
  }
  (*report)["sizes"].push_back(entry);
}

json slice_line(const Options& o, const Plan& plan, const json& mine, const json& theirs) {
  json line{{"seconds", std::max(mine.at("seconds").get<double>(), theirs.at("seconds").get<double>())},
            {"cpu_s", {{"client", mine.at("cpu_s")}, {"server", theirs.at("cpu_s")}}}};
  if (o.test == Test::kLatency) {
    line["seconds"] = mine.at("seconds");
    for (const char* figure : {"samples", "min_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us", "mean_us"})
      line["latency"][figure] = mine.at(figure);
    return line;
  }
  const uint64_t messages = mine.at("sent").get<uint64_t>() + theirs.at("sent").get<uint64_t>();
  line["messages"] = messages;
  line["bytes"] = messages * plan.size;
  const uint64_t wrong = mine.at("mismatches").get<uint64_t>() + theirs.at("mismatches").get<uint64_t>();
  if (o.verify || o.op == Op::kWriteImm) line["mismatches"] = wrong;
  return line;
}

namespace {

// A state and not a count: reported as at the end.
bool is_state(const std::string& name) {
  return name == "up" || name == "qps";
}

}  // namespace

void add_paths(json* report, const Snapshot& before, const Snapshot& after, const QpSnapshot& qp) {
  json planes = json::array(), evs = json::array(), counters = json::object();
  for (size_t p = 0; p < after.planes.size(); ++p) {
    json plane{{"plane", p + 1}};
    for (const auto& [name, value] : after.planes[p])
      plane[name] = is_state(name) ? value : value - before.plane(p, name);
    planes.push_back(plane);
  }
  for (const EvLine& ev : qp.evs)
    evs.push_back({{"value", ev.value},
                   {"plane", ev.plane},
                   {"state", ev.state},
                   {"active", ev.active},
                   {"tx", ev.tx},
                   {"loss", ev.loss},
                   {"ecn", ev.ecn}});
  for (const auto& [name, value] : after.counters)
    counters[name] = is_state(name) ? value : value - before.counter(name);
  (*report)["planes"] = planes;
  (*report)["evs"] = evs;
  (*report)["counters"] = counters;
  (*report)["qp"] = qp.values;
}

void print_size(const json& report, std::FILE* out) {
  const json& entry = report.at("sizes").back();
  const bool first = report.at("sizes").size() == 1;
  const std::string size = size_text(entry.at("size"));
  if (entry.contains("latency")) {
    const json& l = entry.at("latency");
    if (first)
      std::fprintf(out, "%8s %9s %9s %9s %9s %9s %9s   half round trip, us\n", "size", "rounds", "min", "p50", "p99",
                   "p99.9", "max");
    std::fprintf(out, "%8s %9llu %9.2f %9.2f %9.2f %9.2f %9.2f\n", size.c_str(),
                 l.at("samples").get<unsigned long long>(), l.at("min_us").get<double>(), l.at("p50_us").get<double>(),
                 l.at("p99_us").get<double>(), l.at("p999_us").get<double>(), l.at("max_us").get<double>());
  } else {
    if (first)
      std::fprintf(out, "%8s %10s %9s %10s %13s %9s  %s\n", "size", "messages", "seconds", "Gb/s", "messages/s",
                   "CPU s/GB", "data");
    std::string data = "not checked";
    if (entry.value("checked", uint64_t{0}) > 0)
      data = std::to_string(entry.at("checked").get<uint64_t>()) + " messages right";
    if (entry.value("mismatches", uint64_t{0}) > 0)
      data = std::to_string(entry.at("mismatches").get<uint64_t>()) +
             " WRONG: " + entry.value("first_mismatch", std::string());
    std::fprintf(out, "%8s %10llu %9.3f %10.3f %13.0f %9.3f  %s\n", size.c_str(),
                 entry.at("messages").get<unsigned long long>(), entry.at("seconds").get<double>(),
                 entry.at("gbps").get<double>(), entry.at("message_rate").get<double>(),
                 entry.at("cpu_s_per_gb").get<double>(), data.c_str());
  }
  std::fflush(out);
}

void print_paths(const json& report, std::FILE* out) {
  if (!report.contains("planes")) return;
  std::fprintf(out, "\n%5s %12s %10s %12s %10s %8s %8s   EVs: good/skip/assumed bad/denied, packets sent\n", "plane",
               "sent", "MiB", "received", "MiB", "retx", "lost");
  for (const json& plane : report.at("planes")) {
    const auto of = [&](const char* name) { return plane.value(name, uint64_t{0}); };
    unsigned good = 0, skip = 0, bad = 0, denied = 0;
    uint64_t sent = 0;
    for (const json& ev : report.at("evs")) {
      if (ev.at("plane") != plane.at("plane")) continue;
      const std::string state = ev.at("state");
      good += state == "GOOD", skip += state == "SKIP", bad += state == "ASSUMED_BAD", denied += state == "DENIED";
      sent += ev.at("tx").get<uint64_t>();
    }
    std::fprintf(out, "%5llu %12llu %10.1f %12llu %10.1f %8llu %8llu   %u/%u/%u/%u %llu\n",
                 plane.at("plane").get<unsigned long long>(), static_cast<unsigned long long>(of("tx_packets")),
                 static_cast<double>(of("tx_bytes")) / 1048576.0, static_cast<unsigned long long>(of("rx_packets")),
                 static_cast<double>(of("rx_bytes")) / 1048576.0, static_cast<unsigned long long>(of("retransmits")),
                 static_cast<unsigned long long>(of("losses")), good, skip, bad, denied,
                 static_cast<unsigned long long>(sent));
  }
  print_losses(report, out);
  std::fprintf(out, "%s\n", report.value("ok", false) ? "OK" : "FAILED: the data was wrong");
}

void open_json(const std::string& name, tools::ReportFile* file) {
  if (!file->open(name))
    throw UsageError("cannot write " + name + ": " + std::strerror(errno), "choose another file for --json");
}

void write_json(const json& report, const std::string& name, tools::ReportFile* file) {
  if (!file->write(report.dump(2, ' ', false, json::error_handler_t::replace) + "\n"))
    throw PerfError("cannot write " + name + ": " + std::strerror(errno), "choose another file for --json");
}

}  // namespace mrc::perf
