#include "ev_expand.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "append_item.h"
#include "ctl/call.h"
#include "ctl/ev_expand.h"
#include "ctl/limits.h"
#include "text_file.h"

namespace mrcctl {

namespace {

using OrderedJson = nlohmann::ordered_json;

struct Profile {
  std::string name;
  bool generated = false;
  int mode = 0;
  std::vector<mrc_ctl_ev_fmt_field> format;
  std::vector<mrc_ctl_ev_field> fields;
};

[[noreturn]] void refuse(const std::string& profile, const std::string& why) {
  throw std::runtime_error("profile '" + profile + "': " + why);
}

std::optional<uint64_t> parse_number(const std::string& text) {
  const bool hex = text.rfind("0x", 0) == 0 || text.rfind("0X", 0) == 0;
  const char* const end = text.data() + text.size();
  uint64_t n = 0;
  const auto parsed = std::from_chars(text.data() + (hex ? 2 : 0), end, n, hex ? 16 : 10);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(n) : std::nullopt;
}

// A whole number, or text such as "0xcafe"; the JSON library alone would make 1 of 1.5 and of true. `profile` and `key`
// say in the error whose it is.
uint32_t number(const std::string& profile, const std::string& key, const OrderedJson& value) {
  std::optional<uint64_t> n;
  if (value.is_string()) n = parse_number(value.get<std::string>());
  if (value.is_number_unsigned()) n = value.get<uint64_t>();
  if (!n || *n > UINT32_MAX)
    refuse(profile,
           key + " is " + value.dump() + ", allowed: 0 to 4294967295, as a whole number or text such as \"0xf\"");
  return static_cast<uint32_t>(*n);
}

// Bytes left out at the end are zero.
mrc_ctl_ev parse_ev(const std::string& profile, const OrderedJson& value) {
  const std::optional<mrc_ctl_ev> ev =
      value.is_string() ? mrc::ctl::parse_ev_hex(value.get<std::string>(), 0) : std::nullopt;
  if (!ev)
    refuse(profile, value.dump() + " is no EV, allowed: text of at most 64 hexadecimal digits, two for each byte");
  return *ev;
}

// With the zeros at the end, too.
std::string hex(const mrc_ctl_ev_t& bytes) {
  std::string text = mrc::ctl::ev_hex(bytes);
  text.resize(2 * sizeof bytes, '0');
  return text;
}

std::string hex(uint32_t value, uint32_t width) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%0*x", static_cast<int>((width + 3) / 4), value);
  return text;
}

int mode_of(const std::string& word) {
  if (absl::EqualsIgnoreCase(word, "stev")) return MRC_CTL_EV_FMT_MODE_STEV;
  if (absl::EqualsIgnoreCase(word, "srv6")) return MRC_CTL_EV_FMT_MODE_SRV6;
  if (absl::EqualsIgnoreCase(word, "udp")) return MRC_CTL_EV_FMT_MODE_UDP;
  return 0;
}

Profile read_profile(const OrderedJson& in) {
  Profile p;
  p.name = in.at("name").get<std::string>();
  const std::string format = in.at("format").get<std::string>(), mode = in.at("mode").get<std::string>();
  p.mode = mode_of(format);
  if (p.mode == 0) refuse(p.name, "format is '" + format + "', allowed: STEV, SRv6, UDP");
  p.generated = absl::EqualsIgnoreCase(mode, "generated");
  if (!p.generated && !absl::EqualsIgnoreCase(mode, "explicit"))
    refuse(p.name, "mode is '" + mode + "', allowed: Explicit, Generated");
  for (const OrderedJson& width : in.at("fmt_field_widths")) {
    const uint32_t bits = number(p.name, "fmt_field_widths", width);
    if (bits > UINT8_MAX)
      refuse(p.name, "a field of the format has " + std::to_string(bits) + " bits, allowed: 1..255");
    p.format.push_back({static_cast<uint8_t>(bits)});
  }
  for (const OrderedJson& f : in.at("fields")) {
    const auto at = [&](const char* key) { return number(p.name, key, f.at(key)); };
    p.fields.push_back({at("width"), at("init_val"), at("min_val"), at("max_val"), at("mask")});
  }
  if (const int error = mrc::ctl::check_format(p.mode, p.format))
    refuse(p.name, error == E2BIG
                       ? "the format's fields have more than " + std::to_string(mrc::ctl::format_bits(p.mode)) + " bits"
                       : "the format needs fields, each of at least one bit");
  if (mrc::ctl::check_fields(p.fields) != 0)
    refuse(p.name,
           "fields contradict themselves: width 1..32, init_val and mask within it, min_val <= max_val within "
           "the bits of the mask");
  if (mrc::ctl::check_fit(p.fields, p.format) != 0)
    refuse(p.name, "there are more fields than in the format, or wider ones");
  return p;
}

// The file's EVs, or "count" of them for a generated profile that lists none: at most as many as a device takes.
std::vector<mrc_ctl_ev> evs_of(const Profile& p, const OrderedJson& in) {
  std::vector<mrc_ctl_ev> evs;
  if (in.contains("evs")) {
    for (const OrderedJson& entry : in.at("evs")) {
      evs.push_back(parse_ev(p.name, entry.at("value")));
      if (!mrc::ctl::unused_bits_zero(evs.back().val, p.fields))
        refuse(p.name, "EV " + hex(evs.back().val) + " has bits set beyond the " +
                           std::to_string(mrc::ctl::consumed_bits(p.fields)) + " that the masks take");
    }
    return evs;
  }
  const uint64_t max = std::min<uint64_t>(mrc::ctl::kMaxEvsPerProfile, mrc::ctl::combinations(p.fields));
  const uint32_t count = p.generated ? number(p.name, "count", in.at("count")) : 0;
  if (count == 0 || count > max)
    refuse(p.name, "needs 'evs', or if generated a 'count' from 1 to " + std::to_string(max));
  return mrc::ctl::generate(p.fields, count, 1);
}

OrderedJson expand_one(const Profile& p, const mrc_ctl_ev& ev) {
  OrderedJson out{{"value", hex(ev.val)}};
  const std::vector<uint32_t> values = mrc::ctl::field_values(ev.val, p.fields);
  for (size_t i = 0; i < values.size(); ++i) out["expanded_fields"].push_back(hex(values[i], p.fields[i].width));
  mrc_ctl_ev_t packet;
  mrc::ctl::expand(ev.val, p.fields, p.format, &packet);
  out["expanded"] = hex(packet);
  return out;
}

// Numbers are equal with any leading zeros, and bytes with any trailing zeros.
bool same_value(const std::string& profile, const std::string& key, const OrderedJson& got,
                const OrderedJson& expected) {
  if (key == "expanded") {
    const mrc_ctl_ev a = parse_ev(profile, got), b = parse_ev(profile, expected);
    return std::memcmp(a.val, b.val, sizeof a.val) == 0;
  }
  return expected.is_array() && std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                                           [&](const OrderedJson& a, const OrderedJson& b) {
                                             return number(profile, key, a) == number(profile, key, b);
                                           });
}

// The difference from the file's expectation, in words; empty without a difference or an expectation.
std::string difference(const std::string& profile, const OrderedJson& got, const OrderedJson& expected) {
  std::string text;
  for (const char* key : {"expanded_fields", "expanded"})
    if (expected.contains(key) && !same_value(profile, key, got.at(key), expected.at(key)))
      mrc::append_item(&text, key + (" expected " + expected.at(key).dump()) + " got " + got.at(key).dump());
  return text;
}

OrderedJson expand_profile(const OrderedJson& in, size_t* differences) {
  const Profile p = read_profile(in);
  const std::vector<mrc_ctl_ev> evs = evs_of(p, in);
  OrderedJson out{{"name", p.name}};
  for (size_t i = 0; i < evs.size(); ++i) {
    OrderedJson one = expand_one(p, evs[i]);
    const std::string differs = in.contains("evs") ? difference(p.name, one, in.at("evs").at(i)) : "";
    if (!differs.empty()) {
      one["difference"] = differs;
      ++*differences;
    }
    out["evs"].push_back(std::move(one));
  }
  return out;
}

void print_text(const OrderedJson& profiles, size_t differences) {
  size_t count = 0;
  for (const OrderedJson& profile : profiles) {
    std::printf("%s\n", profile.at("name").get<std::string>().c_str());
    for (const OrderedJson& ev : profile.value("evs", OrderedJson::array())) {
      std::printf("  %s ->", ev.at("value").get<std::string>().c_str());
      for (const OrderedJson& field : ev.at("expanded_fields")) std::printf(" %s", field.get<std::string>().c_str());
      std::printf("  %s\n", ev.at("expanded").get<std::string>().c_str());
      if (ev.contains("difference")) std::printf("    differs: %s\n", ev.at("difference").get<std::string>().c_str());
      ++count;
    }
  }
  std::printf("%zu EVs, %zu differences\n", count, differences);
}

}  // namespace

int expand_file(const std::string& file, bool json) {
  const mrc::Result<std::string> text = mrc::read_text_file(file);
  if (!text) {
    std::fprintf(stderr, "mrcctl: cannot read %s: %s\n", file.c_str(), text.error().text.c_str());
    return kBad;
  }
  try {
    OrderedJson profiles = OrderedJson::array();
    size_t differences = 0;
    const OrderedJson document = OrderedJson::parse(*text);
    if (!document.is_array()) throw std::runtime_error("not an array of profiles");
    for (const OrderedJson& profile : document) profiles.push_back(expand_profile(profile, &differences));
    if (json)
      std::cout << OrderedJson{{"profiles", profiles}, {"differences", differences}}.dump(2) << "\n";
    else
      print_text(profiles, differences);
    return differences == 0 ? kGood : kDiffers;
  } catch (const std::exception& e) {  // the JSON library's own, and those above
    std::fprintf(stderr, "mrcctl: %s: %s\n", file.c_str(), e.what());
    return kBad;
  }
}

}  // namespace mrcctl
