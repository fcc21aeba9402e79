#include "print.h"

#include <cstdio>

#include "wire/text.h"

namespace mrc::log {

std::string to_text(const Event& e, int64_t begin_ns) {
  char head[96];
  std::snprintf(head, sizeof head, "%14.6f ms  QP 0x%06llx  %-21s", static_cast<double>(e.at_ns - begin_ns) / 1e6,
                static_cast<unsigned long long>(e.number("qpn")), e.name.c_str());
  std::string out = head;
  for (const auto& [key, value] : e.data.items()) {
    if (key == "qpn") continue;
    out += " " + key + "=";
    if (key == "ev" && value.is_number_unsigned()) {
      out += wire::ev_text(value.get<uint32_t>());
    } else if (key == "plane" && value.is_number_unsigned()) {
      out += std::to_string(value.get<uint64_t>() + 1);  // people count planes from 1
    } else if (value.is_string()) {
      out += value.get<std::string>();
    } else {
      out += value.dump();
    }
  }
  if (!e.trigger.empty()) out += "  because: " + e.trigger;
  return out;
}

nlohmann::json to_json(const Event& e) {
  nlohmann::json data = e.data;
  if (!e.trigger.empty()) data["trigger"] = e.trigger;
  return {{"time", static_cast<double>(e.at_ns) / 1e6}, {"name", "mrc:" + e.name}, {"data", data}};
}

}  // namespace mrc::log
