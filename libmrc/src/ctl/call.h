// A call of mrc_ctl.h that changes a profile, as text: requests of a controller to the daemon, the daemon's
// notifications to processes, and the entries of its file are all such calls. A store is saved as the calls that create
// it again. JSON; spec/mrcd.md defines the format.
//
// Pure functions of their arguments, any thread. [MRC-MRCD-3]
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ctl/vocabulary.h"

namespace mrc::ctl {

class ProfileStore;

enum class ProfileKind : uint8_t { kFormat, kEv, kCc };

// Owns the arrays that its attributes point to, so it is moved and never copied. Algorithm and configuration of `cc`
// are beside it, and applied from there.
struct ProfileCall {
  ProfileKind kind = ProfileKind::kFormat;
  uint64_t id = 0;
  int mask = 0;
  mrc_ctl_ev_fmt_profile_attr format{};
  mrc_ctl_ev_profile_attr ev{};
  mrc_ctl_cc_profile_attr cc{};
  std::vector<mrc_ctl_ev_fmt_field> format_fields;
  std::vector<mrc_ctl_ev_field> ev_fields;
  std::vector<mrc_ctl_ev_op_entry> entries;
  std::vector<mrc_ctl_cc_nscc_cfg> config;  // none or one
  std::string algorithm;

  ProfileCall() = default;
  ProfileCall(ProfileCall&&) = default;
  ProfileCall& operator=(ProfileCall&&) = default;
  ProfileCall(const ProfileCall&) = delete;
  ProfileCall& operator=(const ProfileCall&) = delete;

  // 0, or an errno value, as the function of mrc_ctl.h would give it.
  [[nodiscard]] int apply(ProfileStore* store) const;
};

// From a caller's attributes and mask. Members outside the mask are not read, and null arrays are empty ones.
nlohmann::json call_json(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask);
nlohmann::json call_json(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask);
nlohmann::json call_json(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask);
// None: not in that format. The values are checked by apply().
[[nodiscard]] std::optional<ProfileCall> parse_call(const nlohmann::json& text);

// "0003c001": bytes of an EV without the zeros at the end; empty for an EV of zeros.
std::string ev_hex(const mrc_ctl_ev_t& value);
// The EV of that value on a port. None: the value is no such text.
[[nodiscard]] std::optional<mrc_ctl_ev> parse_ev_hex(const std::string& value, uint8_t port);

// The calls that make this store from an empty one of the same limits. `paths` false: entries that observation has
// found bad are written as good, because an observation is no decision.
std::vector<nlohmann::json> calls_of(const ProfileStore& store, bool paths);

}  // namespace mrc::ctl
