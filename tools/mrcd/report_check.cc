#include "report_check.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

namespace mrc::mrcd {

namespace {

using Json = nlohmann::json;

template <typename Good>
bool all_have(const Json& of, std::initializer_list<const char*> keys, const Good& good) {
  return std::all_of(keys.begin(), keys.end(), [&](const char* key) {
    const auto found = of.find(key);
    return found != of.end() && good(*found);
  });
}

constexpr size_t kMaxPorts = 32;
constexpr size_t kMaxLabel = 256;  // it becomes a label of every sample

bool is_text(const Json& value) {
  return value.is_string();
}
bool is_name(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().size() <= kMaxLabel;
}
bool is_flag(const Json& value) {
  return value.is_boolean();
}
bool is_count(const Json& value) {
  return value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
}
bool is_number(const Json& value) {
  return value.is_number();
}

template <typename Good>
bool is_list_of(const Json& value, const Good& good) {
  return value.is_array() && std::all_of(value.begin(), value.end(), good);
}

bool is_port(const Json& port) {
  return port.is_object() && all_have(port, {"up"}, is_flag) &&
         all_have(port, {"port", "tx_bytes", "rx_bytes", "losses", "retransmits", "ecn_marks"}, is_count);
}

// They are counted by state, so there are no others.
bool is_state(const Json& value) {
  return value == "GOOD" || value == "SKIP" || value == "ASSUMED_BAD" || value == "DENIED";
}

bool is_qp(const Json& qp) {
  return qp.is_object() && all_have(qp, {"state"}, is_text) && all_have(qp, {"qpn", "dest_qpn"}, is_count) &&
         all_have(qp, {"cwnd", "inflight", "rtt_ns", "tx_packets", "retransmits", "timeouts"}, is_number);
}

bool is_ev(const Json& ev) {
  return ev.is_object() && all_have(ev, {"state"}, is_state) && all_have(ev, {"active"}, is_flag) &&
         all_have(ev, {"ev", "port", "tx_bytes", "losses", "ecn_marks"}, is_count) &&
         all_have(ev, {"rtt_ns"}, is_number);
}

bool is_peer(const Json& peer) {
  return peer.is_object() && all_have(peer, {"addresses"}, [](const Json& v) { return is_list_of(v, is_text); }) &&
         all_have(peer, {"evs"}, [](const Json& v) { return is_list_of(v, is_ev); });
}

}  // namespace

bool is_report(const Json& report) {
  return report.is_object() && all_have(report, {"device", "program"}, is_name) &&
         all_have(report, {"ports"}, [](const Json& v) { return is_list_of(v, is_port) && v.size() <= kMaxPorts; }) &&
         all_have(report, {"qps"}, [](const Json& v) { return is_list_of(v, is_qp); }) &&
         all_have(report, {"peers"}, [](const Json& v) { return is_list_of(v, is_peer); });
}

}  // namespace mrc::mrcd
