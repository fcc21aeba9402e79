// mrcctl watch: throughput and health of every process of this host, refreshed at an interval.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon.h"
#include "device.h"
#include "live.h"

namespace mrcctl {

namespace {

using Json = nlohmann::json;

constexpr const char* kClear = "\033[H\033[J";
constexpr double kMaxFirst = 1;  // second until something is drawn

struct Totals {
  uint64_t tx_bytes = 0, rx_bytes = 0, losses = 0;
};

// By process and port.
using Sample = std::map<std::pair<uint64_t, uint64_t>, Totals>;

Sample sample_of(const Json& reports) {
  Sample sample;
  for (const Json& report : reports)
    for (const Json& port : report.value("ports", Json::array()))
      sample[{report["pid"].get<uint64_t>(), port["port"].get<uint64_t>()}] = {
          port["tx_bytes"].get<uint64_t>(), port["rx_bytes"].get<uint64_t>(), port["losses"].get<uint64_t>()};
  return sample;
}

double gbps(uint64_t now, uint64_t before, double seconds) {
  return now < before ? 0 : static_cast<double>(now - before) * 8 / 1e9 / seconds;
}

Json table_of(const Json& reports, const Sample& now, const Sample& before, double seconds) {
  Json rows = Json::array();
  for (const Json& report : reports)
    for (const Json& port : report.value("ports", Json::array())) {
      const std::pair<uint64_t, uint64_t> key{report["pid"].get<uint64_t>(), port["port"].get<uint64_t>()};
      const auto then = before.find(key);
      const Totals old = then != before.end() ? then->second : now.at(key);
      size_t good = 0, bad = 0, denied = 0;
      for (const Json& peer : report.value("peers", Json::array()))
        for (const Json& ev : peer["evs"]) {
          if (ev["port"] != port["port"]) continue;
          good += ev["state"] == "GOOD" || ev["state"] == "SKIP";
          bad += ev["state"] == "ASSUMED_BAD";
          denied += ev["state"] == "DENIED";
        }
      rows.push_back({{"pid", report["pid"]},
                      {"program", report["program"]},
                      {"device", report["device"]},
                      {"port", port["port"]},
                      {"up", port["up"]},
                      {"out", port.value("out", "")},
                      {"tx_gbps", gbps(now.at(key).tx_bytes, old.tx_bytes, seconds)},
                      {"rx_gbps", gbps(now.at(key).rx_bytes, old.rx_bytes, seconds)},
                      {"losses", now.at(key).losses - old.losses},
                      {"qps", report["qps"].size()},
                      {"paths_good", good},
                      {"paths_bad", bad},
                      {"paths_denied", denied}});
    }
  return rows;
}

void print_live(const Json& rows) {
  std::printf("%8s  %-16s %-8s %4s %-5s %10s %10s %8s %6s  %s\n", "process", "program", "device", "port", "state",
              "sent Gb/s", "rcvd Gb/s", "lost", "QPs", "paths good/bad/denied");
  for (const Json& row : rows)
    std::printf("%8s  %-16.16s %-8.8s %4s %-5s %10.3f %10.3f %8s %6s  %s/%s/%s\n", row["pid"].dump().c_str(),
                row["program"].get<std::string>().c_str(), row["device"].get<std::string>().c_str(),
                row["port"].dump().c_str(), state_of_port(row), row["tx_gbps"].get<double>(),
                row["rx_gbps"].get<double>(), row["losses"].dump().c_str(), row["qps"].dump().c_str(),
                row["paths_good"].dump().c_str(), row["paths_bad"].dump().c_str(), row["paths_denied"].dump().c_str());
  for (const Json& row : rows)
    if (const std::string out = row["out"]; !out.empty())
      std::printf("%s of process %s: port %s is out: %s\n", row["device"].get<std::string>().c_str(),
                  row["pid"].dump().c_str(), row["port"].dump().c_str(), out.c_str());
  if (rows.empty()) std::printf("no process of this host has an MRC device open\n");
}

}  // namespace

int watch(const LiveOptions& options, double interval_s, uint64_t rounds) {
  Daemon daemon(options.socket);
  const auto clock = [] { return std::chrono::steady_clock::now(); };
  // The first output also covers an interval: no rate follows from one sample.
  Sample before = sample_of(reports_of(&daemon, options));
  auto then = clock();
  for (uint64_t round = 0; rounds == 0 || round < rounds; ++round) {
    const double pause = round > 0 ? interval_s : std::min(interval_s, kMaxFirst);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    const Json reports = reports_of(&daemon, options);
    const auto now = clock();
    const double seconds = std::max(1e-3, std::chrono::duration<double>(now - then).count());
    then = now;
    Sample sample = sample_of(reports);
    const Json rows = table_of(reports, sample, before, seconds);
    before = std::move(sample);
    if (options.json) {
      std::cout << Json{{"rows", rows}}.dump() << std::endl;
    } else {
      if (::isatty(STDOUT_FILENO) != 0) std::printf("%s", kClear);
      print_live(rows);
      std::fflush(stdout);
    }
  }
  return kGood;
}

}  // namespace mrcctl
