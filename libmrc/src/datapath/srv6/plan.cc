#include "datapath/srv6/plan.h"

#include <absl/strings/str_split.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

namespace mrc::datapath {

namespace {

std::optional<uint32_t> parse_number(const std::string& text, int base, uint32_t min, uint32_t max) {
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stopped != end || number < min || number > max) return std::nullopt;
  return number;
}

std::string hex(uint32_t value, size_t digits) {
  char buffer[16];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value, 16).ptr);
  return std::string(digits > text.size() ? digits - text.size() : 0, '0') + text;
}

// Puts the numbers into {plane}, {plane:N}, {uplink} and {uplink:N}.
Result<std::string> fill_holes(const std::string& text, uint32_t plane, uint32_t uplink) {
  std::string filled;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '{') {
      filled += text[at];
      continue;
    }
    const size_t end = std::min(text.find('}', at), text.size() - 1);
    const std::string hole = text.substr(at, end - at + 1);
    const size_t colon = std::min(hole.find(':'), hole.size() - 1);
    const std::string name = hole.substr(1, colon - 1);
    std::optional<uint32_t> digits = 1;
    if (colon != hole.size() - 1) digits = parse_number(hole.substr(colon + 1, hole.size() - colon - 2), 10, 1, 4);
    if (hole.back() != '}' || !digits || (name != "plane" && name != "uplink"))
      return invalid("'" + hole + "' is neither {plane}, {uplink}, {plane:N} nor {uplink:N} with N digits, 1 to 4");
    filled += hex(name == "plane" ? plane + 1 : uplink, *digits);
    at = end;
  }
  return filled;
}

Result<UsidList> parse_usids(const std::string& text) {
  UsidList usids;
  for (const absl::string_view part : absl::StrSplit(text, ':')) {
    const std::optional<uint32_t> usid = parse_number(std::string(part), 16, 1, 0xFFFF);
    if (!usid) return invalid("'" + std::string(part) + "' is not a uSID, allowed: 1..ffff");
    usids.push_back(static_cast<uint16_t>(*usid));
  }
  if (usids.size() < kMaxUsids) return usids;
  return invalid("'" + text + "' is not a list of 1 to " + std::to_string(kMaxUsids - 1) + " uSIDs with ':' between");
}

// One list, or with {uplink} one for each number.
Result<std::vector<UsidList>> expand(const std::string& text, uint32_t plane, uint32_t uplinks) {
  std::vector<UsidList> lists;
  const uint32_t last = text.find("{uplink") == std::string::npos ? 1 : uplinks;
  for (uint32_t uplink = 1; uplink <= last; ++uplink) {
    const Result<std::string> filled = fill_holes(text, plane, uplink);
    if (!filled) return filled.error();
    Result<UsidList> usids = parse_usids(*filled);
    if (!usids) return std::move(usids).error();
    lists.push_back(*std::move(usids));
  }
  return lists;
}

struct Prefix {
  IpAddress address;
  uint32_t length = 0;  // bits
};

Result<Prefix> parse_prefix(const std::string& text, uint32_t plane) {
  if (text.find("{uplink") != std::string::npos) return invalid("'" + text + "': a prefix has no uplink");
  const Result<std::string> filled = fill_holes(text, plane, 0);
  if (!filled) return filled.error();
  const size_t slash = filled->find('/');
  std::optional<IpAddress> address;
  std::optional<uint32_t> length;
  if (slash != std::string::npos) address = IpAddress::parse(filled->substr(0, slash));
  if (address && !address->is_v4()) length = parse_number(filled->substr(slash + 1), 10, 0, 128);
  if (!length) return invalid("'" + *filled + "' is not an IPv6 prefix with its length");
  for (uint32_t bit = *length; bit < 128; ++bit)
    if ((address->bytes[bit / 8] >> (7 - bit % 8) & 1) != 0)
      return invalid("'" + *filled + "' has bits behind its length");
  return Prefix{*address, *length};
}

std::vector<std::string> lines_of(const std::string& text) {
  return absl::StrSplit(text, absl::ByAnyChar(";\n"), absl::SkipWhitespace());
}

}  // namespace

bool Srv6Plan::Rule::covers(const IpAddress& address) const {
  const uint32_t bytes = length / 8;
  if (!std::equal(prefix.bytes.begin(), prefix.bytes.begin() + bytes, address.bytes.begin())) return false;
  const uint32_t rest = length % 8;
  return rest == 0 || ((prefix.bytes[bytes] ^ address.bytes[bytes]) >> (8 - rest)) == 0;
}

Status Srv6Plan::add_rule(const std::string& line, uint32_t uplinks, uint32_t plane, std::vector<Rule>* out) {
  std::istringstream in(line);
  std::string prefix, word, list, more;
  in >> prefix >> word >> list >> more;
  const bool direct = word == "direct" && list.empty();
  if (!direct && (word != "via" || list.empty() || !more.empty()))
    return invalid("'" + line + "' is neither 'PREFIX/LENGTH via USIDS' nor 'PREFIX/LENGTH direct'");
  const Result<Prefix> parsed = parse_prefix(prefix, plane);
  if (!parsed) return parsed.error();
  Rule rule{parsed->address, parsed->length, {}};
  if (direct) {
    rule.paths.emplace_back();
  } else {
    Result<std::vector<UsidList>> lists = expand(list, plane, uplinks);
    if (!lists) return std::move(lists).error();
    rule.paths = *std::move(lists);
  }
  for (Rule& known : *out)
    if (known.prefix == rule.prefix && known.length == rule.length) {
      known.paths.insert(known.paths.end(), rule.paths.begin(), rule.paths.end());
      return {};
    }
  out->push_back(std::move(rule));
  return {};
}

void Srv6Plan::longest_first(std::vector<Rule>* rules) {
  std::stable_sort(rules->begin(), rules->end(), [](const Rule& a, const Rule& b) { return a.length > b.length; });
}

// A list without a prefix applies to every address.
Status Srv6Plan::add_loops(const Text& text, uint32_t plane, Plane* out) {
  const bool bare = text.loop.find('/') == std::string::npos;
  for (const std::string& line : lines_of(text.loop))
    if (Status added = add_rule(bare ? "::/0 via " + line : line, text.uplinks, plane, &out->loops); !added)
      return added;
  longest_first(&out->loops);
  return {};
}

Result<std::shared_ptr<const Srv6Plan>> Srv6Plan::parse(const Text& text, uint32_t planes) {
  auto plan = std::make_shared<Srv6Plan>();
  const std::vector<std::string> lines = lines_of(text.paths);
  for (uint32_t p = 0; p < planes; ++p) {
    Plane plane;
    for (const std::string& line : lines)
      if (Status added = add_rule(line, text.uplinks, p, &plane.rules); !added) return std::move(added).error();
    if (Status added = add_loops(text, p, &plane); !added) return std::move(added).error();
    longest_first(&plane.rules);
    plan->planes_.push_back(std::move(plane));
  }
  return plan;
}

const Srv6Plan::Rule* Srv6Plan::find(const std::vector<Rule>& rules, const IpAddress& to) {
  for (const Rule& rule : rules)
    if (rule.covers(to)) return &rule;
  return nullptr;
}

const Srv6Plan::Rule* Srv6Plan::find(PlaneId plane, const IpAddress& to) const {
  return planes_.has(plane) ? find(planes_[plane].rules, to) : nullptr;
}

SegmentPath Srv6Plan::path(PlaneId plane, uint32_t n, const IpAddress& to) const {
  std::optional<SegmentPath> composed;
  if (const Rule* rule = find(plane, to)) composed = compose_path(rule->paths[n % rule->paths.size()], to);
  return composed.value_or(SegmentPath{to, {}, false});
}

bool Srv6Plan::may_need_segment() const {
  for (const Plane& plane : planes_)
    for (const Rule& rule : plane.rules)
      for (const UsidList& path : rule.paths)
        if (path.size() >= kUsidsPerAddress) return true;
  return false;
}

uint32_t Srv6Plan::max_path_count() const {
  size_t max = 1;
  for (const Plane& plane : planes_)
    for (const Rule& rule : plane.rules) max = std::max(max, rule.paths.size());
  return static_cast<uint32_t>(max);
}

std::vector<SegmentPath> Srv6Plan::loops(PlaneId plane, const IpAddress& own) const {
  std::vector<SegmentPath> result;
  if (!planes_.has(plane)) return result;
  const Rule* rule = find(planes_[plane].loops, own);
  if (rule == nullptr) return result;
  for (const UsidList& usids : rule->paths)
    if (const std::optional<SegmentPath> path = compose_path(usids, own)) result.push_back(*path);
  return result;
}

}  // namespace mrc::datapath
