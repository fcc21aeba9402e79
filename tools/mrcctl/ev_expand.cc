#include "ev_expand.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "ctl/ev_expand.h"
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

bool same_word(const std::string& a, const char* b) {
  return std::equal(a.begin(), a.end(), b, b + std::strlen(b),
                    [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
}

// A number, or text such as "0xcafe".
uint32_t number(const OrderedJson& value) {
  unsigned long long n;
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    const bool hex = text.rfind("0x", 0) == 0 || text.rfind("0X", 0) == 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + (hex ? 2 : 0), end, n, hex ? 16 : 10);
    if (parsed.ec != std::errc() || parsed.ptr != end) throw std::runtime_error("'" + text + "' is no number");
  } else {
    n = value.get<unsigned long long>();
  }
  if (n > UINT32_MAX) throw std::runtime_error("a number of more than 32 bits: " + value.dump());
  return static_cast<uint32_t>(n);
}

int nibble(char c) {
  const char* const digits = "0123456789abcdef";
  const char* at = std::strchr(digits, std::tolower(static_cast<unsigned char>(c)));
  return c == 0 || at == nullptr ? -1 : static_cast<int>(at - digits);
}

// Bytes left out at the end are zero.
void parse_hex(const std::string& text, mrc_ctl_ev_t* out) {
  mrc_ctl_ev_t bytes{};
  if (text.size() % 2 != 0 || text.size() > 2 * sizeof bytes) throw std::runtime_error("'" + text + "' is no EV");
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = nibble(text[i]), low = nibble(text[i + 1]);
    if (high < 0 || low < 0) throw std::runtime_error("'" + text + "' is no EV");
    bytes[i / 2] = static_cast<uint8_t>(high << 4 | low);
  }
  std::memcpy(out, &bytes, sizeof bytes);
}

std::string hex(const mrc_ctl_ev_t& bytes) {
  std::string text;
  char two[3];
  for (uint8_t byte : bytes) {
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

std::string hex(uint32_t value, uint32_t width) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%0*x", static_cast<int>((width + 3) / 4), value);
  return text;
}

int mode_of(const std::string& word) {
  if (same_word(word, "stev")) return MRC_CTL_EV_FMT_MODE_STEV;
  if (same_word(word, "srv6")) return MRC_CTL_EV_FMT_MODE_SRV6;
  if (same_word(word, "udp")) return MRC_CTL_EV_FMT_MODE_UDP;
  return 0;
}

Profile read_profile(const OrderedJson& in) {
  Profile p;
  p.name = in.at("name").get<std::string>();
  const std::string format = in.at("format").get<std::string>(), mode = in.at("mode").get<std::string>();
  p.mode = mode_of(format);
  if (p.mode == 0) refuse(p.name, "format is '" + format + "', allowed: STEV, SRv6, UDP");
  p.generated = same_word(mode, "generated");
  if (!p.generated && !same_word(mode, "explicit"))
    refuse(p.name, "mode is '" + mode + "', allowed: Explicit, Generated");
  for (const OrderedJson& width : in.at("fmt_field_widths")) {
    const uint32_t bits = number(width);
    if (bits > UINT8_MAX)
      refuse(p.name, "a field of the format has " + std::to_string(bits) + " bits, allowed: 1..255");
    p.format.push_back({static_cast<uint8_t>(bits)});
  }
  for (const OrderedJson& f : in.at("fields"))
    p.fields.push_back({number(f.at("width")), number(f.at("init_val")), number(f.at("min_val")),
                        number(f.at("max_val")), number(f.at("mask"))});
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

// The file's EVs, or "count" of them for a generated profile that lists none.
std::vector<mrc_ctl_ev> evs_of(const Profile& p, const OrderedJson& in) {
  std::vector<mrc_ctl_ev> evs;
  if (in.contains("evs")) {
    for (const OrderedJson& entry : in.at("evs")) {
      parse_hex(entry.at("value").get<std::string>(), &evs.emplace_back().val);
      if (!mrc::ctl::unused_bits_zero(evs.back().val, p.fields))
        refuse(p.name, "EV " + hex(evs.back().val) + " has bits set beyond the " +
                           std::to_string(mrc::ctl::consumed_bits(p.fields)) + " that the masks take");
    }
    return evs;
  }
  const uint32_t count = p.generated ? number(in.at("count")) : 0;
  if (count == 0 || count > mrc::ctl::combinations(p.fields))
    refuse(p.name,
           "needs 'evs', or if generated a 'count' from 1 to " + std::to_string(mrc::ctl::combinations(p.fields)));
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
bool same_value(const std::string& key, const OrderedJson& got, const OrderedJson& expected) {
  if (key == "expanded") {
    mrc_ctl_ev_t a, b;
    parse_hex(got.get<std::string>(), &a);
    parse_hex(expected.get<std::string>(), &b);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  return expected.is_array() &&
         std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                    [](const OrderedJson& a, const OrderedJson& b) { return number(a) == number(b); });
}

// The difference from the file's expectation, in words; empty without a difference or an expectation.
std::string difference(const OrderedJson& got, const OrderedJson& expected) {
  std::string text;
  for (const char* key : {"expanded_fields", "expanded"})
    if (expected.contains(key) && !same_value(key, got.at(key), expected.at(key)))
      text += std::string(text.empty() ? "" : ", ") + key + " expected " + expected.at(key).dump() + " got " +
              got.at(key).dump();
  return text;
}

OrderedJson expand_profile(const OrderedJson& in, size_t* differences) {
  const Profile p = read_profile(in);
  const std::vector<mrc_ctl_ev> evs = evs_of(p, in);
  OrderedJson out{{"name", p.name}};
  for (size_t i = 0; i < evs.size(); ++i) {
    OrderedJson one = expand_one(p, evs[i]);
    const std::string differs = in.contains("evs") ? difference(one, in.at("evs").at(i)) : "";
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
