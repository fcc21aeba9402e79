#include "preflight.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "child.h"
#include "device.h"
#include "judge.h"
#include "shell_word.h"

namespace mrcctl {

namespace {

using Json = nlohmann::json;
using mrc::mrcd::Finding;
using mrc::mrcd::Observation;
using mrc::tools::shell_quoted;

constexpr int kStartMs = 20000;  // for a program to come up on another host

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// This program's own path.
std::string own_program() {
  std::array<char, PATH_MAX> path;
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  return n <= 0 ? "mrcctl" : shell_quoted(std::string(path.data(), static_cast<size_t>(n)));
}

class Fleet {
 public:
  explicit Fleet(const PreflightOptions& options) : o_(options) {}

  std::string command(const std::string& host, const std::string& words) const {
    return replaced(o_.run, "{host}", shell_quoted(host)) + " " + (o_.program.empty() ? "mrcctl" : o_.program) + " " +
           words;
  }
  std::string device_words() const { return o_.device.empty() ? "" : " --device " + shell_quoted(o_.device); }

  // All hosts respond, and have reported their GIDs.
  void gather() {
    for (const std::string& host : o_.hosts)
      responders_.push_back(std::make_unique<Child>(command(host, "respond" + device_words())));
    // No other process opens the devices before: probes go to process slot 0, whose owner must stay to the end.
    for (size_t i = 0; i < o_.hosts.size(); ++i) {
      if (responders_[i]->read_line(kStartMs) != "ready")
        throw Error("host " + o_.hosts[i] + " does not answer to: " + command(o_.hosts[i], "respond"));
    }
    for (const std::string& host : o_.hosts) shows_.push_back(std::make_unique<Child>(command(host, "show --json")));
    for (size_t i = 0; i < o_.hosts.size(); ++i) {
      const Json shown = Json::parse(shows_[i]->read_all(kStartMs), nullptr, false);
      if (!shown.is_object())
        throw Error("host " + o_.hosts[i] + " returns no GID to: " + command(o_.hosts[i], "show --json"));
      for (const Json& device : shown["devices"]) {
        if (!o_.device.empty() && device["name"] != o_.device) continue;
        gids_.push_back(device["gids"][0].get<std::string>());
        break;
      }
      if (gids_.size() != i + 1) throw Error("host " + o_.hosts[i] + " has no device '" + o_.device + "'");
    }
  }

  // Each host's view of the others.
  std::vector<Json> probe() {
    std::vector<std::unique_ptr<Child>> probes;
    for (size_t i = 0; i < o_.hosts.size(); ++i) {
      std::string words = "--json probe --loops --count " + std::to_string(o_.count) + " --loss " +
                          std::to_string(o_.loss) + " --timeout-ms " + std::to_string(o_.timeout_ms) + device_words();
      for (size_t j = 0; j < gids_.size(); ++j)
        if (j != i) words.append(" ").append(shell_quoted(gids_[j]));
      probes.push_back(std::make_unique<Child>(command(o_.hosts[i], words)));
    }
    std::vector<Json> seen;
    for (size_t i = 0; i < probes.size(); ++i) {
      const uint64_t max_ms = kStartMs + uint64_t{o_.count} * o_.timeout_ms * o_.hosts.size() * 4;
      const std::string text = probes[i]->read_all(static_cast<int>(std::min<uint64_t>(max_ms, INT32_MAX)));
      seen.push_back(Json::parse(text, nullptr, false));
      if (!seen.back().is_object()) throw Error("host " + o_.hosts[i] + " cannot probe");
      seen.back()["host"] = o_.hosts[i];
      for (size_t j = 0, n = 0; j < gids_.size(); ++j)
        if (j != i) seen.back()["peers"][n++]["peer"] = o_.hosts[j];
    }
    return seen;
  }

 private:
  const PreflightOptions& o_;
  std::vector<std::unique_ptr<Child>> responders_, shows_;
  std::vector<std::string> gids_;
};

std::vector<Json> probe_from_here(const PreflightOptions& o) {
  std::string words = "--json probe --loops --count " + std::to_string(o.count) + " --loss " + std::to_string(o.loss) +
                      " --timeout-ms " + std::to_string(o.timeout_ms);
  if (!o.device.empty()) words += " --device " + shell_quoted(o.device);
  for (const std::string& host : o.hosts) words += " " + shell_quoted(host);
  Child probe((o.program.empty() ? own_program() : o.program) + " " + words);
  const Json seen = Json::parse(probe.read_all(INT32_MAX), nullptr, false);
  if (!seen.is_object()) throw Error("probing failed");
  return {seen};
}

// All paths that one host has over one T1 to another are one observation: they share what can be at fault.
std::vector<Observation> observations(const std::vector<Json>& seen, double loss) {
  struct Sum {
    uint64_t sent = 0, received = 0;
  };
  std::map<std::pair<uint32_t, std::string>, std::string> t0s;  // plane and host -> T0
  for (const Json& host : seen) {
    for (const Json& loop : host.value("loops", Json::array()))
      t0s[{loop["port"].get<uint32_t>(), host["host"].get<std::string>()}] = loop["t0"].get<std::string>();
    for (const Json& peer : host["peers"])
      for (const Json& path : peer["paths"])
        if (path.contains("far_t0"))
          t0s.emplace(std::make_pair(path["port"].get<uint32_t>(), peer["peer"].get<std::string>()),
                      path["far_t0"].get<std::string>());
  }
  std::vector<Observation> all;
  for (const Json& host : seen) {
    const std::string name = host["host"].get<std::string>();
    const auto t0 = [&](uint32_t plane, const std::string& whose) {
      const auto found = t0s.find({plane, whose});
      return found != t0s.end() ? found->second : "of " + whose;
    };
    for (const Json& loop : host.value("loops", Json::array())) {
      const auto plane = loop["port"].get<uint32_t>();
      const auto sent = loop["sent"].get<uint32_t>(), received = loop["received"].get<uint32_t>();
      all.push_back({plane, name, t0(plane, name), loop["t1"].get<std::string>(), t0(plane, name), name,
                     loop["bad"].get<bool>(), sent == 0 ? 0 : 1 - static_cast<double>(received) / sent});
    }
    for (const Json& peer : host["peers"]) {
      const std::string to = peer["peer"].get<std::string>();
      std::map<std::pair<uint32_t, std::string>, Sum> sums;
      for (const Json& path : peer["paths"]) {
        Sum& sum = sums[{path["port"].get<uint32_t>(), path.value("t1", "")}];
        sum.sent += path["sent"].get<uint64_t>();
        sum.received += path["received"].get<uint64_t>();
      }
      for (const auto& [key, sum] : sums) {
        const double lost = 1 - static_cast<double>(sum.received) / static_cast<double>(sum.sent);
        all.push_back({key.first, name, t0(key.first, name), key.second, t0(key.first, to), to, lost > loss, lost});
      }
    }
  }
  return all;
}

}  // namespace

int preflight(const PreflightOptions& options) {
  std::vector<Json> seen;
  if (options.run.empty()) {
    seen = probe_from_here(options);
  } else {
    if (options.run.find("{host}") == std::string::npos) throw Error("--run has no {host} in it: --run 'ssh {host}'");
    Fleet fleet(options);
    fleet.gather();
    seen = fleet.probe();
  }
  const std::vector<Observation> all = observations(seen, options.loss);
  const std::vector<Finding> findings = mrc::mrcd::localise(all);
  size_t paths = 0, bad = 0;
  for (const Json& host : seen) {
    for (const Json& peer : host["peers"]) paths += peer["paths"].size();
    bad += host["bad"].get<size_t>();
  }
  for (const Observation& o : all) bad += o.bad && o.host == o.far_host;
  if (options.json) {
    Json named = Json::array();
    for (const Finding& f : findings) named.push_back(mrc::mrcd::finding_json(f));
    std::cout << Json{{"good", bad == 0}, {"paths", paths}, {"bad", bad}, {"faults", named}, {"hosts", seen}}.dump(2)
              << "\n";
  } else {
    std::printf("%zu paths between %zu hosts, %zu probes of each: %zu bad\n", paths,
                options.hosts.size() + (options.run.empty() ? 1 : 0), size_t{options.count}, bad);
    for (const Finding& f : findings) std::printf("FAULT  %s\n", f.text().c_str());
    if (bad != 0 && findings.empty())
      std::printf("no single part explains them: `mrcctl probe --count %u` on the hosts shows which they are\n",
                  options.count);
  }
  return bad == 0 ? kGood : kDiffers;
}

}  // namespace mrcctl
