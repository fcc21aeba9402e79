#include "size_text.h"

#include <absl/strings/str_split.h>
#include <cctype>

#include "error.h"

namespace mrc::perf {

namespace {

[[noreturn]] void bad_size(const std::string& text) {
  throw UsageError("'" + text + "' is not a size", "write bytes, or a number with K, M or G: 2, 64K, 4M");
}

constexpr size_t kDigits = 10;  // what has more with a G behind it does not fit into 64 bits

uint64_t parse_number(const std::string& text) {
  size_t end = 0;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  if (end == 0 || end > kDigits) bad_size(text);
  const uint64_t value = std::stoull(text.substr(0, end));
  const std::string unit = text.substr(end);
  if (unit.empty() || unit == "B") return value;
  const std::string rest = unit.substr(1);
  if (!rest.empty() && rest != "B" && rest != "iB") bad_size(text);
  switch (std::toupper(static_cast<unsigned char>(unit[0]))) {
    case 'K':
      return value << 10;
    case 'M':
      return value << 20;
    case 'G':
      return value << 30;
    default:
      bad_size(text);
  }
}

}  // namespace

uint64_t parse_size(const std::string& text) {
  const uint64_t size = parse_number(text);
  if (size > kMaxSize) throw UsageError("'" + text + "': a message has at most 1G", "choose a smaller size");
  return size;
}

std::vector<uint64_t> parse_sizes(const std::string& text) {
  std::vector<uint64_t> sizes;
  const size_t dash = text.find('-');
  if (dash != std::string::npos) {
    const uint64_t first = parse_size(text.substr(0, dash)), last = parse_size(text.substr(dash + 1));
    if (first == 0 || first > last)
      throw UsageError("'" + text + "' is not a sweep of sizes", "write the smaller one first, above 0: 4K-64M");
    for (uint64_t size = first; size < last; size *= 4) sizes.push_back(size);
    sizes.push_back(last);
    return sizes;
  }
  for (const absl::string_view size : absl::StrSplit(text, ',')) sizes.push_back(parse_size(std::string(size)));
  if (sizes.size() > kMaxSizes) throw UsageError("more than 4096 sizes", "run it several times");
  return sizes;
}

std::string size_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G"};
  int unit = 0;
  while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return std::to_string(bytes) + kUnits[unit];
}

}  // namespace mrc::perf
