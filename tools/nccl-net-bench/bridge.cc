#include "bridge.h"

#include <system_error>

namespace mrc::net_bench {

namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 6;  // a VLAN over a bond over cards is 3

bool stands_on_card(const std::string& interface, const fs::path& net, int deepest) {
  static const std::string kLower = "lower_";  // links to the interfaces that this one is made of
  std::error_code ignored;
  if (fs::exists(net / interface / "device", ignored)) return true;
  if (deepest == 1) return false;
  for (fs::directory_iterator entry(net / interface, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    if (name.starts_with(kLower) && stands_on_card(name.substr(kLower.size()), net, deepest - 1)) return true;
  }
  return false;
}

}  // namespace

bool is_internal_bridge(const std::string& interface, const fs::path& net) {
  std::error_code ignored;
  if (!fs::exists(net / interface / "bridge", ignored)) return false;
  for (fs::directory_iterator port(net / interface / "brif", ignored), end; port != end; port.increment(ignored))
    if (stands_on_card(port->path().filename(), net, kDeepest)) return false;
  return true;
}

}  // namespace mrc::net_bench
