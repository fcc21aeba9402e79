#include "stats.h"

#include <algorithm>
#include <sstream>

namespace mrc::perf {

namespace {

template <typename Query>
std::string read_text(Query query) {
  std::string text(16384, '\0');
  for (int attempt = 0; attempt < 3; ++attempt) {
    const int needed = query(text.data(), text.size());
    if (needed < 0) return {};
    if (static_cast<size_t>(needed) < text.size()) {
      text.resize(static_cast<size_t>(needed));
      return text;
    }
    text.resize(static_cast<size_t>(needed) + 1024);
  }
  return {};
}

EvLine parse_ev(const std::string& name, std::istringstream& rest) {
  EvLine ev;
  ev.value = static_cast<uint32_t>(std::strtoull(name.c_str() + 3, nullptr, 0));
  std::string key;
  while (rest >> key) {
    if (key == "plane")
      rest >> ev.plane;
    else if (key == "state")
      rest >> ev.state;
    else if (key == "active")
      rest >> ev.active;
    else if (key == "tx")
      rest >> ev.tx;
    else if (key == "loss")
      rest >> ev.loss;
    else if (key == "ecn")
      rest >> ev.ecn;
    else
      rest >> key;  // a newer library's field: skip its value
  }
  return ev;
}

}  // namespace

uint64_t Snapshot::counter(const std::string& name) const {
  const auto it = counters.find(name);
  return it == counters.end() ? 0 : it->second;
}

uint64_t Snapshot::plane(size_t index, const std::string& name) const {
  if (index >= planes.size()) return 0;
  const auto it = planes[index].find(name);
  return it == planes[index].end() ? 0 : it->second;
}

uint32_t QpSnapshot::count(const std::string& state) const {
  const bool any = state == "ASSUMED_BAD" || state == "DENIED";
  return static_cast<uint32_t>(
      std::count_if(evs.begin(), evs.end(), [&](const EvLine& ev) { return (any || ev.active) && ev.state == state; }));
}

Snapshot read_device_stats(ibv_context* context) {
  std::istringstream text(read_text([&](char* p, size_t n) { return mrc_soft_query_stats(context, p, n); }));
  Snapshot s;
  std::map<unsigned, std::map<std::string, uint64_t>> planes;  // by the number in the name, with any first one
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t value = 0;
    if (!(words >> name >> value)) continue;
    if (name.rfind("plane.", 0) == 0) {
      const size_t dot = name.find('.', 6);
      if (dot != std::string::npos)
        planes[static_cast<unsigned>(std::stoul(name.substr(6, dot - 6)))][name.substr(dot + 1)] = value;
    } else {
      s.counters[name] = value;
    }
  }
  for (auto& [number, values] : planes) s.planes.push_back(std::move(values));
  return s;
}

QpSnapshot read_qp_stats(mrc_qp* qp) {
  if (qp == nullptr) return {};
  std::istringstream text(read_text([&](char* p, size_t n) { return mrc_soft_query_qp_stats(qp, p, n); }));
  QpSnapshot s;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name)) continue;
    if (name.rfind("ev.", 0) == 0) {
      s.evs.push_back(parse_ev(name, words));
    } else {
      int64_t value = 0;
      if (words >> value) s.values[name] = value;
    }
  }
  return s;
}

}  // namespace mrc::perf
