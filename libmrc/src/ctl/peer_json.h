// JSON from an untrusted peer. Copying and writing a value recurses for every level of it, so a few hundred
// kilobytes of brackets would overflow the reader's stack: text deeper than any valid message is refused while it is
// parsed, which does not recurse. [MRC-MRCD-2]
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace mrc::ctl {

inline constexpr int kMaxJsonDepth = 32;

// A discarded value when the text is no JSON, or is too deep.
inline nlohmann::json parse_peer_json(std::string_view text) {
  bool too_deep = false;
  nlohmann::json made = nlohmann::json::parse(
      text.begin(), text.end(),
      [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        too_deep = too_deep || depth >= kMaxJsonDepth;
        return !too_deep;
      },
      false);
  return too_deep ? nlohmann::json(nlohmann::json::value_t::discarded) : made;
}

}  // namespace mrc::ctl
