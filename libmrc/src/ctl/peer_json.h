// JSON of somebody who is not trusted. Copying and writing a value calls itself for every level of it, so a few hundred
// kilobytes of brackets would end the reader's stack: what is deeper than any message of ours is refused while it is
// read, which needs no stack. [MRC-MRCD-2]
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace mrc::ctl {

inline constexpr int kMostJsonDepth = 32;

// A discarded value when the text is no JSON, or is too deep.
inline nlohmann::json parse_peer_json(std::string_view text) {
  bool too_deep = false;
  nlohmann::json made = nlohmann::json::parse(
      text.begin(), text.end(),
      [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        too_deep = too_deep || depth >= kMostJsonDepth;
        return !too_deep;
      },
      false);
  return too_deep ? nlohmann::json(nlohmann::json::value_t::discarded) : made;
}

}  // namespace mrc::ctl
