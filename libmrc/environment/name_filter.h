// The syntax in which NCCL's variables select names (NCCL_SOCKET_IFNAME, NCCL_IB_HCA): a list separated by commas,
// of prefixes, or of exact names when the list begins with '='; beginning with '^' (or '^=') it lists the excluded
// names. A ":port" behind a name is accepted and ignored: an MRC device is used with all its planes. Split by hand: the
// plugin, which NCCL loads, links no abseil.
#pragma once

#include <string>
#include <string_view>

namespace mrc {

inline bool name_chosen(std::string_view list, std::string_view name) {
  if (list.empty()) return true;
  const bool inverted = list.front() == '^';
  if (inverted) list.remove_prefix(1);
  const bool exact = !list.empty() && list.front() == '=';
  if (exact) list.remove_prefix(1);
  bool found = false;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view wanted = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    wanted = wanted.substr(0, wanted.find(':'));
    if (wanted.empty()) continue;
    found |= exact ? wanted == name : name.substr(0, wanted.size()) == wanted;
  }
  return found != inverted;
}

}  // namespace mrc
