#include "ctl/call.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ctl/profile_store.h"
#include "ctl/transition.h"
#include "ctl/whole.h"

namespace mrc::ctl {

namespace {

using Json = nlohmann::json;

constexpr const char* kKinds[] = {"format", "ev", "cc"};
constexpr char kDigits[] = "0123456789abcdef";

std::string hex(const uint8_t* bytes, size_t count) {
  while (count > 0 && bytes[count - 1] == 0) --count;
  std::string text;
  for (size_t i = 0; i < count; ++i) (text += kDigits[bytes[i] >> 4]) += kDigits[bytes[i] & 15];
  return text;
}

int digit_of(char c) {
  if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  const char* found = c != 0 ? std::strchr(kDigits, c) : nullptr;
  return found != nullptr ? static_cast<int>(found - kDigits) : -1;
}

// Bytes beyond the text are zero.
bool parse_hex(const std::string& text, uint8_t* bytes, size_t count) {
  if (text.size() % 2 != 0 || text.size() > 2 * count) return false;
  std::memset(bytes, 0, count);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]), low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i / 2] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

Json head(ProfileKind kind, uint64_t id, int mask) {
  return {{"kind", kKinds[static_cast<int>(kind)]}, {"id", id}, {"mask", mask}};
}

// A caller's count is ignored without its array.
template <typename T>
size_t length_of(const T* array, int count) {
  return array == nullptr || count < 0 ? 0 : static_cast<size_t>(count);
}

constexpr float mrc_ctl_cc_nscc_cfg::*kGains[] = {&mrc_ctl_cc_nscc_cfg::eta, &mrc_ctl_cc_nscc_cfg::fi,
                                                  &mrc_ctl_cc_nscc_cfg::fi_scale, &mrc_ctl_cc_nscc_cfg::gamma,
                                                  &mrc_ctl_cc_nscc_cfg::max_md_jump};
constexpr uint32_t mrc_ctl_cc_nscc_cfg::*kNumbers[] = {&mrc_ctl_cc_nscc_cfg::adjust_bytes_threshold,
                                                       &mrc_ctl_cc_nscc_cfg::adjust_period_threshold,
                                                       &mrc_ctl_cc_nscc_cfg::base_rtt,
                                                       &mrc_ctl_cc_nscc_cfg::max_cwnd,
                                                       &mrc_ctl_cc_nscc_cfg::qa_threshold,
                                                       &mrc_ctl_cc_nscc_cfg::target_delay};

// JSON has no representation of NaN and infinity: null, which the rules refuse as they refuse the number.
Json config_json(const mrc_ctl_cc_nscc_cfg& c) {
  Json gains = Json::array(), numbers = Json::array();
  for (auto gain : kGains) gains.push_back(std::isfinite(c.*gain) ? Json(c.*gain) : Json());
  for (auto number : kNumbers) numbers.push_back(c.*number);
  return {{"gains", gains}, {"numbers", numbers}, {"disable_qa", c.disable_qa}, {"qa_gate", c.qa_gate}};
}

mrc_ctl_cc_nscc_cfg parse_config(const Json& j) {
  mrc_ctl_cc_nscc_cfg c{};
  for (size_t i = 0; i < std::size(kGains); ++i)
    c.*kGains[i] = j.at("gains").at(i).is_null() ? NAN : j.at("gains").at(i).get<float>();
  for (size_t i = 0; i < std::size(kNumbers); ++i) c.*kNumbers[i] = j.at("numbers").at(i).get<Whole<uint32_t>>();
  c.disable_qa = j.at("disable_qa").get<Whole<uint8_t>>();
  c.qa_gate = j.at("qa_gate").get<Whole<uint8_t>>();
  return c;
}

template <typename Enum>
Enum as_enum(const Json& j) {
  static_assert(sizeof(Enum) == sizeof(int));
  const int number = j.get<Whole<int>>();
  Enum value;
  std::memcpy(&value, &number, sizeof value);  // may be none of its values, as in a caller's attributes
  return value;
}

mrc_ctl_ev parse_ev(const Json& value, const Json& port) {
  const std::optional<mrc_ctl_ev> ev = parse_ev_hex(value.get<std::string>(), port.get<Whole<uint8_t>>());
  if (!ev) throw std::invalid_argument("EV");
  return *ev;
}

void parse_format(const Json& j, ProfileCall* c) {
  mrc_ctl_ev_fmt_profile_attr& a = c->format;
  if (c->mask & MRC_CTL_EV_FMT_PROFILE_STATE) a.profile_state = as_enum<mrc_ctl_profile_state>(j.at("state"));
  if (c->mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE) a.cur_profile_state = as_enum<mrc_ctl_profile_state>(j.at("current"));
  if (c->mask & MRC_CTL_EV_FMT_PROFILE_MODE) a.ev_fmt_mode = as_enum<mrc_ctl_ev_fmt_mode>(j.at("mode"));
  if (c->mask & MRC_CTL_EV_FMT_PROFILE_OP) {
    for (const Json& width : j.at("fields")) c->format_fields.push_back({width.get<Whole<uint8_t>>()});
    a.ev_fmt_op = {as_enum<mrc_ctl_ev_fmt_op>(j.at("op")), c->format_fields.data(),
                   static_cast<int>(c->format_fields.size())};
  }
  if ((c->mask & MRC_CTL_EV_FMT_VENDOR_CFG) != 0 &&
      !parse_hex(j.at("vendor").get<std::string>(), a.vendor_cfg, sizeof a.vendor_cfg))
    throw std::invalid_argument("vendor");
}

void parse_ev_call(const Json& j, ProfileCall* c) {
  mrc_ctl_ev_profile_attr& a = c->ev;
  if (c->mask & MRC_CTL_EV_PROFILE_STATE) a.profile_state = as_enum<mrc_ctl_profile_state>(j.at("state"));
  if (c->mask & MRC_CTL_EV_PROFILE_CUR_STATE) a.cur_profile_state = as_enum<mrc_ctl_profile_state>(j.at("current"));
  if (c->mask & MRC_CTL_EV_PROFILE_MODE) a.ev_mode = as_enum<mrc_ctl_ev_mode>(j.at("mode"));
  if (c->mask & MRC_CTL_EV_PROFILE_FMT_ID) a.ev_fmt_profile_id = j.at("format").get<Whole<uint64_t>>();
  if (c->mask & MRC_CTL_EV_PROFILE_COUNT) a.ev_count = j.at("count").get<Whole<uint32_t>>();
  if (c->mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) a.ev_min_active = j.at("min_active").get<Whole<uint32_t>>();
  if (c->mask & MRC_CTL_EV_PROFILE_EVENT_MASK) a.ev_event_mask = j.at("event_mask").get<Whole<int>>();
  if (c->mask & MRC_CTL_EV_PROFILE_EV_OP) {
    for (const Json& e : j.at("entries"))
      c->entries.push_back({parse_ev(e.at(0), e.at(1)), parse_ev(e.at(2), e.at(3)), as_enum<mrc_ctl_ev_state>(e.at(4)),
                            e.at(5).get<Whole<uint32_t>>()});
    const bool none = j.at("entries").is_null();
    a.ev_op = {as_enum<mrc_ctl_ev_op>(j.at("op")), c->entries.data(), none ? -1 : static_cast<int>(c->entries.size())};
  }
  if (c->mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) {
    for (const Json& f : j.at("fields"))
      c->ev_fields.push_back({f.at(0).get<Whole<uint32_t>>(), f.at(1).get<Whole<uint32_t>>(),
                              f.at(2).get<Whole<uint32_t>>(), f.at(3).get<Whole<uint32_t>>(),
                              f.at(4).get<Whole<uint32_t>>()});
    a.ev_fields_op = {as_enum<mrc_ctl_ev_fields_op>(j.at("fields_op")), c->ev_fields.data(),
                      static_cast<int>(c->ev_fields.size())};
  }
  if ((c->mask & MRC_CTL_EV_PROFILE_VENDOR_CFG) != 0 &&
      !parse_hex(j.at("vendor").get<std::string>(), a.vendor_cfg, sizeof a.vendor_cfg))
    throw std::invalid_argument("vendor");
}

void parse_cc(const Json& j, ProfileCall* c) {
  mrc_ctl_cc_profile_attr& a = c->cc;
  if (c->mask & MRC_CTL_CC_PROFILE_STATE) a.profile_state = as_enum<mrc_ctl_profile_state>(j.at("state"));
  if (c->mask & MRC_CTL_CC_PROFILE_CUR_STATE) a.cur_profile_state = as_enum<mrc_ctl_profile_state>(j.at("current"));
  if ((c->mask & MRC_CTL_CC_PROFILE_ALGORITHM) != 0 && !j.at("algorithm").is_null()) {
    c->algorithm = j.at("algorithm").get<std::string>();
    if (c->algorithm.empty()) throw std::invalid_argument("algorithm");
  }
  if ((c->mask & MRC_CTL_CC_PROFILE_CONFIG) != 0 && !j.at("config").is_null())
    c->config.push_back(parse_config(j.at("config")));
  if ((c->mask & MRC_CTL_CC_PROFILE_VENDOR_CFG) != 0 &&
      !parse_hex(j.at("vendor").get<std::string>(), a.vendor_cfg, sizeof a.vendor_cfg))
    throw std::invalid_argument("vendor");
}

}  // namespace

std::string ev_hex(const mrc_ctl_ev_t& value) {
  return hex(value, sizeof(mrc_ctl_ev_t));
}

std::optional<mrc_ctl_ev> parse_ev_hex(const std::string& value, uint8_t port) {
  mrc_ctl_ev ev{};
  if (!parse_hex(value, ev.val, sizeof ev.val)) return std::nullopt;
  ev.port = port;
  return ev;
}

Json call_json(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& a, int mask) {
  Json j = head(ProfileKind::kFormat, id, mask);
  if (mask & MRC_CTL_EV_FMT_PROFILE_STATE) j["state"] = number_of(a.profile_state);
  if (mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE) j["current"] = number_of(a.cur_profile_state);
  if (mask & MRC_CTL_EV_FMT_PROFILE_MODE) j["mode"] = number_of(a.ev_fmt_mode);
  if (mask & MRC_CTL_EV_FMT_PROFILE_OP) {
    j["op"] = number_of(a.ev_fmt_op.op);
    j["fields"] = Json::array();
    for (size_t i = 0; i < length_of(a.ev_fmt_op.fmt_fields, a.ev_fmt_op.fmt_field_count); ++i)
      j["fields"].push_back(a.ev_fmt_op.fmt_fields[i].width);
  }
  if (mask & MRC_CTL_EV_FMT_VENDOR_CFG) j["vendor"] = hex(a.vendor_cfg, sizeof a.vendor_cfg);
  return j;
}

Json call_json(uint64_t id, const mrc_ctl_ev_profile_attr& a, int mask) {
  Json j = head(ProfileKind::kEv, id, mask);
  if (mask & MRC_CTL_EV_PROFILE_STATE) j["state"] = number_of(a.profile_state);
  if (mask & MRC_CTL_EV_PROFILE_CUR_STATE) j["current"] = number_of(a.cur_profile_state);
  if (mask & MRC_CTL_EV_PROFILE_MODE) j["mode"] = number_of(a.ev_mode);
  if (mask & MRC_CTL_EV_PROFILE_FMT_ID) j["format"] = a.ev_fmt_profile_id;
  if (mask & MRC_CTL_EV_PROFILE_COUNT) j["count"] = a.ev_count;
  if (mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) j["min_active"] = a.ev_min_active;
  if (mask & MRC_CTL_EV_PROFILE_EVENT_MASK) j["event_mask"] = a.ev_event_mask;
  if (mask & MRC_CTL_EV_PROFILE_EV_OP) {
    j["op"] = number_of(a.ev_op.op);
    // Null if count and array contradict each other, which the rules refuse.
    const bool sound = a.ev_op.entry_count == 0 || length_of(a.ev_op.entries, a.ev_op.entry_count) != 0;
    j["entries"] = sound ? Json::array() : Json();
    for (size_t i = 0; i < length_of(a.ev_op.entries, a.ev_op.entry_count); ++i) {
      const mrc_ctl_ev_op_entry& e = a.ev_op.entries[i];
      j["entries"].push_back(
          {ev_hex(e.ev.val), e.ev.port, ev_hex(e.ev_new.val), e.ev_new.port, number_of(e.state), e.flags});
    }
  }
  if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) {
    j["fields_op"] = number_of(a.ev_fields_op.op);
    j["fields"] = Json::array();
    for (size_t i = 0; i < length_of(a.ev_fields_op.fields, a.ev_fields_op.field_count); ++i) {
      const mrc_ctl_ev_field& f = a.ev_fields_op.fields[i];
      j["fields"].push_back({f.width, f.init_val, f.min_val, f.max_val, f.mask});
    }
  }
  if (mask & MRC_CTL_EV_PROFILE_VENDOR_CFG) j["vendor"] = hex(a.vendor_cfg, sizeof a.vendor_cfg);
  return j;
}

Json call_json(uint64_t id, const mrc_ctl_cc_profile_attr& a, int mask) {
  Json j = head(ProfileKind::kCc, id, mask);
  if (mask & MRC_CTL_CC_PROFILE_STATE) j["state"] = number_of(a.profile_state);
  if (mask & MRC_CTL_CC_PROFILE_CUR_STATE) j["current"] = number_of(a.cur_profile_state);
  if (mask & MRC_CTL_CC_PROFILE_ALGORITHM) j["algorithm"] = a.algorithm != nullptr ? Json(a.algorithm) : Json();
  if (mask & MRC_CTL_CC_PROFILE_CONFIG) {
    mrc_ctl_cc_nscc_cfg config;  // a caller's pointer need not be aligned
    if (a.cc_config != nullptr) std::memcpy(&config, a.cc_config, sizeof config);
    j["config"] = a.cc_config != nullptr ? config_json(config) : Json();
  }
  if (mask & MRC_CTL_CC_PROFILE_VENDOR_CFG) j["vendor"] = hex(a.vendor_cfg, sizeof a.vendor_cfg);
  return j;
}

std::optional<ProfileCall> parse_call(const Json& j) {
  try {
    const std::string kind = j.at("kind").get<std::string>();
    const auto known = std::find(std::begin(kKinds), std::end(kKinds), kind);
    if (known == std::end(kKinds)) return std::nullopt;
    ProfileCall made;
    made.kind = static_cast<ProfileKind>(known - std::begin(kKinds));
    made.id = j.at("id").get<Whole<uint64_t>>();
    made.mask = j.at("mask").get<Whole<int>>();
    if (made.kind == ProfileKind::kFormat) parse_format(j, &made);
    if (made.kind == ProfileKind::kEv) parse_ev_call(j, &made);
    if (made.kind == ProfileKind::kCc) parse_cc(j, &made);
    return made;
  } catch (const std::exception&) {  // a missing key, another type, an invalid text
    return std::nullopt;
  }
}

int ProfileCall::apply(ProfileStore* store) const {
  switch (kind) {
    case ProfileKind::kFormat:
      return store->modify_format(id, format, mask);
    case ProfileKind::kEv:
      return store->modify_ev(id, ev, mask);
    case ProfileKind::kCc: {
      // A short text is stored in the string itself and moves with it, so no pointer to it exists before now.
      mrc_ctl_cc_profile_attr attr = cc;
      attr.algorithm = algorithm.empty() ? nullptr : algorithm.c_str();
      attr.cc_config = config.empty() ? nullptr : config.data();
      return store->modify_cc(id, attr, mask);
    }
  }
  return EINVAL;
}

}  // namespace mrc::ctl
