#include "sysfs/counters.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "provider/provider.h"

namespace mrc::shim {

namespace {

// A counter of the kernel's list as the sum of libmrc's. Data is counted in words of four bytes.
struct PortCounter {
  const char* name;
  const char* sum[2];  // null where there are fewer
  uint64_t divisor = 1;
};

const PortCounter kPortCounters[] = {
    {"VL15_dropped", {}},
    {"excessive_buffer_overrun_errors", {"driver.rx_overflow"}},
    {"link_downed", {}},
    {"link_error_recovery", {}},
    {"local_link_integrity_errors", {}},
    {"multicast_rcv_packets", {}},
    {"multicast_xmit_packets", {}},
    {"port_rcv_constraint_errors", {"drop_source", "drop_source_port"}},
    {"port_rcv_data", {"rx_bytes"}, 4},
    {"port_rcv_errors", {"drop_decode", "drop_icrc"}},
    {"port_rcv_packets", {"rx_packets"}},
    {"port_rcv_remote_physical_errors", {}},
    {"port_rcv_switch_relay_errors", {}},
    {"port_xmit_constraint_errors", {}},
    {"port_xmit_data", {"tx_bytes"}, 4},
    {"port_xmit_discards", {"driver.tx_errors"}},
    {"port_xmit_packets", {"tx_packets"}},
    {"port_xmit_wait", {"driver.tx_no_room"}},
    {"symbol_error", {}},
    {"unicast_rcv_packets", {"rx_packets"}},
    {"unicast_xmit_packets", {"tx_packets"}},
};

// All counters of the device: names and values.
std::vector<std::pair<std::string, uint64_t>> counters_of(ibv_context* soft) {
  std::vector<std::pair<std::string, uint64_t>> all;
  const auto query = provider()->mrc_soft_query_stats;
  const int size = query != nullptr ? query(soft, nullptr, 0) : -1;
  if (size <= 0) return all;
  // Numbers may have grown by some digits at the second read.
  std::string text(static_cast<size_t>(size) + 1024, '\0');
  query(soft, text.data(), text.size());
  std::istringstream lines(text.c_str());
  std::string name;
  for (uint64_t value = 0; lines >> name >> value;) all.emplace_back(name, value);
  return all;
}

// Of a device as a whole: those of a plane have a number in their name.
bool is_device_counter(const std::string& name) {
  return name.compare(0, 6, "plane.") != 0;
}

}  // namespace

const std::vector<std::string>& port_counter_names() {
  static const auto* const names = [] {
    auto* made = new std::vector<std::string>;
    for (const PortCounter& counter : kPortCounters) made->emplace_back(counter.name);
    return made;
  }();
  return *names;
}

std::vector<std::string> device_counter_names(ibv_context* soft) {
  std::vector<std::string> names;
  for (const auto& [name, value] : counters_of(soft))
    if (is_device_counter(name)) names.push_back(name);
  return names;
}

std::optional<std::string> port_counter(ibv_context* soft, const std::string& name) {
  const auto* const found = std::find_if(std::begin(kPortCounters), std::end(kPortCounters),
                                         [&](const PortCounter& counter) { return counter.name == name; });
  if (found == std::end(kPortCounters)) return std::nullopt;
  uint64_t sum = 0;
  if (found->sum[0] != nullptr)
    for (const auto& [part, value] : counters_of(soft))
      for (const char* wanted : found->sum)
        if (wanted != nullptr && part == wanted) sum += value;
  return std::to_string(sum / found->divisor);
}

std::optional<std::string> device_counter(ibv_context* soft, const std::string& name) {
  for (const auto& [found, value] : counters_of(soft))
    if (found == name && is_device_counter(name)) return std::to_string(value);
  return std::nullopt;
}

}  // namespace mrc::shim
