#include "qp_sample.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace mrc::nccl {

namespace {

bool parse_ev(const std::string& line, EvSample* out) {
  unsigned ev = 0;
  int plane = 0, active = 0;
  char state[32] = "";
  unsigned long long tx = 0, losses = 0, marks = 0;
  if (std::sscanf(line.c_str(), "ev.%u plane %d state %31s active %d tx %llu loss %llu ecn %llu", &ev, &plane, state,
                  &active, &tx, &losses, &marks) != 7)
    return false;
  *out = {ev, plane, state, tx, losses, marks};
  return true;
}

bool parse_delays(const std::string& line, QpSample::Delays* out) {
  unsigned long long ns = 0, packets = 0;
  if (std::sscanf(line.c_str(), "retransmission_delay.le_%llu %llu", &ns, &packets) != 2) return false;
  *out = {ns, packets};
  return true;
}

}  // namespace

// The device's buckets include their ends; those of the histogram begin there, so the end itself would count in the
// next one, which is up to an eighth wide.
void QpSample::add_delays(LatencyHistogram* to) const {
  for (const Delays& d : retransmission_delays)
    to->record(std::min(std::max<uint64_t>(d.ns, 1) - 1, retransmission_delay_max), d.packets);
}

QpSample parse_qp_stats(const std::string& text) {
  QpSample sample;
  uint64_t qpn = 0, dest_qpn = 0;
  const std::pair<const char*, int64_t*> gauges[] = {{"cwnd", &sample.cwnd}, {"inflight", &sample.inflight}};
  const std::pair<const char*, uint64_t*> counters[] = {
      {"qpn", &qpn},
      {"dest_qpn", &dest_qpn},
      {"outstanding_packets", &sample.outstanding},
      {"tx_packets", &sample.tx},
      {"retransmits", &sample.retransmits},
      {"timeouts", &sample.timeouts},
      {"retransmission_delay.max_ns", &sample.retransmission_delay_max}};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EvSample ev;
    if (parse_ev(line, &ev)) {
      sample.evs.push_back(std::move(ev));
      continue;
    }
    QpSample::Delays delays;
    if (parse_delays(line, &delays)) {
      sample.retransmission_delays.push_back(delays);
      continue;
    }
    std::istringstream words(line);
    std::string name;
    int64_t value = 0;
    if (!(words >> name >> value)) continue;
    for (const auto& [known, to] : gauges)
      if (name == known) *to = value;
    for (const auto& [known, to] : counters)
      if (name == known) *to = static_cast<uint64_t>(value);
  }
  sample.qpn = static_cast<uint32_t>(qpn);
  sample.dest_qpn = static_cast<uint32_t>(dest_qpn);
  return sample;
}

}  // namespace mrc::nccl
