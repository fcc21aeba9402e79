#include "report.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/config/units.h"

namespace mrc::softswitch {
namespace {

using Json = nlohmann::ordered_json;

Json limit(int64_t bytes) {
  return bytes == INT64_MAX ? Json() : Json(bytes);
}

Json port_report(const Switch& s, size_t i) {
  const EgressPort& e = s.egress(i);
  const PortCounters& c = e.counters();
  const QueueConfig& q = e.queue();
  return {{"port", s.config().ports[i].name},
          {"up", e.up()},
          {"rate_bps", e.rate()},
          {"rx_packets", s.ingress(i).packets},
          {"rx_bytes", s.ingress(i).bytes},
          {"tx_packets", c.tx_packets},
          {"tx_bytes", c.tx_bytes},
          {"data_packets", c.data_packets},
          {"data_bytes", c.data_bytes},
          {"marked", c.marked},
          {"trimmed", c.trimmed},
          {"dropped", c.data_drops + c.trimmed_drops + c.control_drops},
          {"data_drops", c.data_drops},
          {"trimmed_drops", c.trimmed_drops},
          {"control_drops", c.control_drops},
          {"lost_down", c.lost_down},
          {"queue_bytes", e.queued_bytes()},
          {"max_queue_bytes", c.max_queue},
          {"limits",
           {{"trimming", q.trimming},
            {"last_hop", q.last_hop},
            {"trim_bytes", q.trim_bytes},
            {"data", limit(q.data_limit)},
            {"drop", limit(q.drop_limit)},
            {"trimmed", limit(q.trimmed_limit)},
            {"control", limit(q.control_limit)},
            {"ecn_min", limit(q.ecn_min)},
            {"ecn_max", limit(q.ecn_max)},
            {"ecn_share", q.ecn_share}}}};
}

std::string bytes_text(const Json& bytes) {
  return sim::format_bytes(bytes.get<double>());
}

}  // namespace

std::string report(const Switch& s, const SocketCounters& socket, Duration uptime) {
  const SwitchCounters& c = s.counters();
  Json json = {{"switch", s.config().name},
               {"pid", getpid()},
               {"uptime_s", static_cast<double>(uptime.ns()) / 1e9},
               {"local", c.local},
               {"no_route", c.no_route},
               {"hop_limit", c.hop_limit},
               {"too_big", c.too_big},
               {"malformed", c.malformed},
               {"receive_overflow", socket.overflow},
               {"no_buffer", socket.no_buffer},
               {"send_errors", socket.send_errors},
               {"ports", Json::array()}};
  for (size_t i = 0; i < s.port_count(); ++i) json["ports"].push_back(port_report(s, i));
  return json.dump();
}

std::string report_table(const std::string& json) {
  const Json r = Json::parse(json);
  char line[256];
  std::string text = r["switch"].get<std::string>() + ": process " + r["pid"].dump();
  for (const char* key :
       {"no_route", "hop_limit", "too_big", "malformed", "receive_overflow", "no_buffer", "send_errors"})
    if (r[key].get<uint64_t>() != 0) text += std::string(", ") + key + " " + r[key].dump();
  std::snprintf(line, sizeof line, "\n%-8s %-5s %9s %10s %10s %9s %9s %9s %9s %10s\n", "port", "state", "rate",
                "received", "sent", "marked", "trimmed", "dropped", "queue", "max queue");
  text += line;
  for (const Json& p : r["ports"]) {
    std::snprintf(line, sizeof line, "%-8s %-5s %9s %10s %10s %9s %9s %9s %9s %10s\n",
                  p["port"].get<std::string>().c_str(), p["up"].get<bool>() ? "up" : "down",
                  sim::format_rate(p["rate_bps"].get<double>()).c_str(), bytes_text(p["rx_bytes"]).c_str(),
                  bytes_text(p["tx_bytes"]).c_str(), p["marked"].dump().c_str(), p["trimmed"].dump().c_str(),
                  p["dropped"].dump().c_str(), bytes_text(p["queue_bytes"]).c_str(),
                  bytes_text(p["max_queue_bytes"]).c_str());
    text += line;
  }
  return text;
}

}  // namespace mrc::softswitch
