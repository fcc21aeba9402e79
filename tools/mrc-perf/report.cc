#include "report.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "error.h"
#include "losses.h"
#include "size_text.h"
#include "test_json.h"

namespace mrc::perf {

using nlohmann::json;

json make_report(const Options& o, const std::string& device, int gid_index) {
  return {{"device", device},
          {"gid_index", gid_index},
          {"role", o.is_server() ? "server" : "client"},
          {"transport", transport_name(o.transport)},
          {"test", test_name(o.test)},
          {"op", op_name(o.op)},
          {"options", test_to_json(o)},
          {"sizes", json::array()}};
}

namespace {

uint64_t count_of(const json& side, const char* name) {
  return side.at(name).get<uint64_t>();
}
double seconds_of(const json& side, const char* name) {
  return side.at(name).get<double>();
}

uint64_t lost_of(uint64_t sent, uint64_t received) {
  return sent > received ? sent - received : 0;  // a network may duplicate datagrams
}

// One direction of a transfer. What counts of datagrams is what has arrived, in the time until the last one arrived.
struct Direction {
  uint64_t messages = 0, lost = 0;
  double seconds = 0;
  double rate() const { return seconds > 0 ? static_cast<double>(messages) / seconds : 0.0; }
};

Direction direction(const Options& o, const json& sender, const json& receiver) {
  const uint64_t sent = count_of(sender, "sent");
  if (!o.datagrams()) return {sent, 0, seconds_of(sender, "seconds")};
  if (sent == 0) return {};
  const uint64_t received = count_of(receiver, "received");
  return {received, lost_of(sent, received),
          std::max(seconds_of(sender, "seconds"), seconds_of(receiver, "receive_s"))};
}

bool checks_messages(const Options& o) {
  return o.verify || o.op == Op::kWriteImm || o.datagrams();
}

// Of both sides of a ping-pong over datagrams.
void add_lost_rounds(const json& client, const json& server, json* latency) {
  (*latency)["lost"] = lost_of(count_of(client, "sent"), count_of(server, "received")) +
                       lost_of(count_of(server, "sent"), count_of(client, "received"));
  (*latency)["repeated"] = client.at("repeated");
}

}  // namespace

void add_size(json* report, const Options& o, const Plan& plan, bool client, const json& mine, const json& theirs) {
  json entry{{"size", plan.size}, {"depth", plan.depth}, {"signal_every", plan.chunk}};
  const json& of_client = client ? mine : theirs;
  const json& of_server = client ? theirs : mine;
  if (o.test == Test::kLatency) {
    entry["latency"] = of_client;
    if (o.datagrams()) add_lost_rounds(of_client, of_server, &entry["latency"]);
    (*report)["sizes"].push_back(entry);
    return;
  }
  const Direction forth = direction(o, of_client, of_server), back = direction(o, of_server, of_client);
  const double size = static_cast<double>(plan.size);
  const double messages_per_s = forth.rate() + back.rate();
  const uint64_t messages = forth.messages + back.messages;
  const double gigabytes = static_cast<double>(messages) * size * 1e-9;
  const double cpu = seconds_of(of_client, "cpu_s") + seconds_of(of_server, "cpu_s");
  entry["messages"] = messages;
  entry["bytes"] = messages * plan.size;
  entry["seconds"] = std::max(forth.seconds, back.seconds);
  entry["gbps"] = messages_per_s * size * 8e-9;
  entry["message_rate"] = messages_per_s;
  entry["cpu_s"] = {{"client", of_client.at("cpu_s")}, {"server", of_server.at("cpu_s")}};
  entry["cpu_s_per_gb"] = gigabytes > 0 ? cpu / gigabytes : 0.0;
  if (o.bidirectional)
    entry["gbps_by_direction"] = {{"client_to_server", forth.rate() * size * 8e-9},
                                  {"server_to_client", back.rate() * size * 8e-9}};
  if (o.datagrams()) {
    entry["sent"] = count_of(of_client, "sent") + count_of(of_server, "sent");
    entry["lost"] = forth.lost + back.lost;
  }
  if (checks_messages(o)) {
    entry["checked"] = count_of(of_client, "checked") + count_of(of_server, "checked");
    entry["mismatches"] = count_of(of_client, "mismatches") + count_of(of_server, "mismatches");
    for (const json* side : {&of_client, &of_server})
      if (const std::string text = side->at("first_mismatch"); !text.empty()) entry["first_mismatch"] = text;
  }
  (*report)["sizes"].push_back(entry);
}

void add_incomplete_size(json* report, const Options& o, const Plan& plan, bool client, const json& mine) {
  json entry{{"size", plan.size}, {"depth", plan.depth}, {"signal_every", plan.chunk}, {"incomplete", true}};
  if (o.test == Test::kLatency) {
    entry["latency"] = mine;
    (*report)["sizes"].push_back(entry);
    return;
  }
  const uint64_t sent = count_of(mine, "sent"), received = count_of(mine, "received");
  const uint64_t messages = o.datagrams() ? received : sent + received;
  const double seconds = std::max(seconds_of(mine, "seconds"), mine.value("receive_s", 0.0));
  const double gigabytes = static_cast<double>(messages) * static_cast<double>(plan.size) * 1e-9;
  const double cpu = seconds_of(mine, "cpu_s");
  entry["messages"] = messages;
  entry["bytes"] = messages * plan.size;
  entry["seconds"] = seconds;
  entry["gbps"] = seconds > 0 ? gigabytes * 8 / seconds : 0.0;
  entry["message_rate"] = seconds > 0 ? static_cast<double>(messages) / seconds : 0.0;
  entry["cpu_s"] = {{client ? "client" : "server", cpu}};
  entry["cpu_s_per_gb"] = gigabytes > 0 ? cpu / gigabytes : 0.0;
  if (o.datagrams()) entry["sent"] = sent;
  if (checks_messages(o)) {
    entry["checked"] = mine.at("checked");
    entry["mismatches"] = mine.at("mismatches");
    if (const std::string text = mine.at("first_mismatch"); !text.empty()) entry["first_mismatch"] = text;
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
    if (o.datagrams()) add_lost_rounds(mine, theirs, &line["latency"]);
    return line;
  }
  const Direction forth = direction(o, mine, theirs), back = direction(o, theirs, mine);
  const uint64_t messages = forth.messages + back.messages;
  line["messages"] = messages;
  line["bytes"] = messages * plan.size;
  if (o.datagrams()) {
    line["seconds"] = std::max(forth.seconds, back.seconds);
    line["lost"] = forth.lost + back.lost;
  }
  if (checks_messages(o)) line["mismatches"] = count_of(mine, "mismatches") + count_of(theirs, "mismatches");
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

namespace {

void print_lost_rounds(const json& latency, std::FILE* out) {
  const uint64_t lost = latency.value("lost", uint64_t{0}), repeated = latency.value("repeated", uint64_t{0});
  if (lost == 0 && repeated == 0) return;
  std::fprintf(out, "%8s %llu datagrams lost; %llu rounds were asked for again and are not among these\n", "",
               static_cast<unsigned long long>(lost), static_cast<unsigned long long>(repeated));
}

// What happened to the data of a transfer.
std::string data_text(const json& entry) {
  const auto count = [&](const char* name) { return entry.value(name, uint64_t{0}); };
  std::string text = "not checked";
  if (count("checked") > 0) text = std::to_string(count("checked")) + " messages right";
  if (count("mismatches") > 0)
    text = std::to_string(count("mismatches")) + " WRONG: " + entry.value("first_mismatch", std::string());
  if (entry.contains("incomplete")) text += ", incomplete: of this side until the error";
  if (!entry.contains("lost")) return text;
  return text + ", " + std::to_string(count("lost")) + " of " + std::to_string(count("sent")) + " lost";
}

// Of a run that failed before its first message: zeros in front of the error would look like a measurement.
bool has_nothing(const json& entry) {
  if (!entry.contains("incomplete")) return false;
  return entry.contains("latency") ? count_of(entry.at("latency"), "samples") == 0 : count_of(entry, "messages") == 0;
}

bool has_packets(const json& planes) {
  for (const json& plane : planes)
    if (plane.value("tx_packets", uint64_t{0}) + plane.value("rx_packets", uint64_t{0}) > 0) return true;
  return false;
}

}  // namespace

void print_size(const json& report, std::FILE* out) {
  const json& entry = report.at("sizes").back();
  if (has_nothing(entry)) return;
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
    print_lost_rounds(l, out);
  } else {
    if (first)
      std::fprintf(out, "%8s %10s %9s %10s %13s %9s  %s\n", "size", "messages", "seconds", "Gb/s", "messages/s",
                   "CPU s/GB", "data");
    std::fprintf(out, "%8s %10llu %9.3f %10.3f %13.0f %9.3f  %s\n", size.c_str(),
                 entry.at("messages").get<unsigned long long>(), entry.at("seconds").get<double>(),
                 entry.at("gbps").get<double>(), entry.at("message_rate").get<double>(),
                 entry.at("cpu_s_per_gb").get<double>(), data_text(entry).c_str());
  }
  std::fflush(out);
}

namespace {

// The table counts all EVs, the timeline those active.
void print_active_evs(const json& evs, std::FILE* out) {
  const auto active = std::count_if(evs.begin(), evs.end(), [](const json& ev) { return ev.at("active").get<bool>(); });
  if (!evs.empty())
    std::fprintf(out, "EVs: %td active of %zu, the rest spare\n", static_cast<std::ptrdiff_t>(active), evs.size());
}

}  // namespace

void print_paths(const json& report, std::FILE* out) {
  if (!report.contains("planes")) return;
  if (report.contains("error") && !has_packets(report.at("planes"))) return;
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
  std::fprintf(out,
               "retx, lost: what this side sent again and what it took for lost, wrongly or for being trimmed, too\n");
  print_active_evs(report.at("evs"), out);
  print_losses(report, out);
  if (!report.contains("error"))
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
