#include "sim/helper/trace_reader.h"

#include <absl/strings/str_split.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>
#include <unordered_map>

namespace mrc::sim {
namespace {

constexpr double kMaxUs = 3.6e9, kMaxBytes = 1e9;
constexpr std::array<std::string_view, 6> kColumns = {"time_us", "src", "dst", "bytes", "id", "after"};
constexpr size_t kRequired = 4;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // spreadsheets write it

std::string_view trimmed(std::string_view s) {
  const char* const blank = " \t\r";
  const size_t from = s.find_first_not_of(blank);
  return from == std::string_view::npos ? std::string_view() : s.substr(from, s.find_last_not_of(blank) - from + 1);
}

// Debian's abseil has a type of its own.
absl::string_view view_of(std::string_view s) {
  return {s.data(), s.size()};
}

class Reader {
 public:
  Reader(const std::string& path, uint32_t nics, bool when_sent) : path_(path), nics_(nics), when_sent_(when_sent) {}

  std::vector<TraceMessage> read() {
    std::istringstream in(read_file(path_, kMaxDataFile));
    bool first = true;
    for (std::string text; std::getline(in, text);) {
      std::string_view line = text;
      if (++line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
      line = trimmed(line);
      if (line.empty() || line[0] == '#') continue;
      split(line);
      if (first && line.substr(0, kColumns[0].size()) == kColumns[0]) {
        check_header();
      } else {
        messages_.push_back(message());
      }
      first = false;
    }
    return std::move(messages_);
  }

 private:
  [[noreturn]] void refuse_line(const std::string& why) const {
    throw ConfigError(path_ + ":" + std::to_string(line_) + ": " + why);
  }

  void split(std::string_view line) {
    columns_.clear();
    for (const absl::string_view column : absl::StrSplit(view_of(line), ','))
      columns_.push_back(trimmed({column.data(), column.size()}));
    if (columns_.size() < kRequired || columns_.size() > kColumns.size())
      refuse_line("line has " + std::to_string(columns_.size()) +
                  " columns, allowed: time_us,src,dst,bytes and optionally id,after");
  }

  void check_header() const {
    for (size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] != kColumns[i])
        refuse_line("column " + std::to_string(i + 1) + " is called '" + std::string(columns_[i]) +
                    "', allowed: time_us,src,dst,bytes and optionally id,after, in this order");
  }

  template <class T>
  T value(size_t column, T max, const std::string& allowed) const {
    const std::string_view text = columns_[column];
    T v{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    bool good = error == std::errc() && end == text.data() + text.size() && v >= T{} && v <= max;
    if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(v);
    if (!good)
      refuse_line("key '" + std::string(kColumns[column]) + "': value is '" + std::string(text) +
                  "', allowed: " + allowed);
    return v;
  }

  TraceMessage message() {
    TraceMessage m;
    const std::string nic = "a NIC below " + std::to_string(nics_);
    m.at = static_cast<Ps>(value<double>(0, kMaxUs, "microseconds from 0 to 3.6e9") * kPsPerUs);
    m.src = value<uint32_t>(1, nics_ - 1, nic);
    m.dst = value<uint32_t>(2, nics_ - 1, nic);
    if (m.src == m.dst)
      refuse_line("key 'dst': value is '" + std::to_string(m.dst) + "', allowed: another NIC than src");
    m.bytes = static_cast<uint64_t>(value<double>(3, kMaxBytes, "bytes from 0 to 1e9"));
    if (columns_.size() > 5) references(columns_[5], &m);
    if (columns_.size() > 4 && !columns_[4].empty()) define(std::string(columns_[4]));
    return m;
  }

  // After the references of the line, so that it cannot wait for itself.
  void define(const std::string& id) {
    const auto forbidden = [](unsigned char c) { return c <= ' ' || c == 0x7F || c == ':'; };
    if (std::any_of(id.begin(), id.end(), forbidden))
      refuse_line("key 'id': allowed: a word without ':' and control characters");
    const auto [it, added] = ids_.insert({id, {static_cast<uint32_t>(messages_.size()), line_}});
    if (!added) refuse_line("key 'id': '" + id + "' is given twice, first in line " + std::to_string(it->second.line));
  }

  void references(std::string_view text, TraceMessage* m) {
    for (const absl::string_view word : absl::StrSplit(view_of(text), absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      const size_t colon = word.find(':');
      const absl::string_view ending = colon == absl::string_view::npos ? absl::string_view() : word.substr(colon);
      if (!ending.empty() && ending != ":sent" && ending != ":received")
        refuse_line("key 'after': '" + std::string(word) + "' ends with '" + std::string(ending) +
                    "', allowed: :sent, :received");
      const std::string id(word.substr(0, colon));
      const auto known = ids_.find(id);
      if (known == ids_.end()) refuse_line("key 'after': '" + id + "' is not the id of an earlier line");
      m->after.push_back({known->second.index, ending.empty() ? when_sent_ : ending == ":sent"});
    }
  }

  struct Place {
    uint32_t index;
    uint64_t line;
  };
  const std::string& path_;
  const uint32_t nics_;
  const bool when_sent_;
  uint64_t line_ = 0;
  std::vector<std::string_view> columns_;  // of the present line
  std::vector<TraceMessage> messages_;
  std::unordered_map<std::string, Place> ids_;
};

}  // namespace

std::vector<TraceMessage> read_trace(const std::string& path, uint32_t nics, bool when_sent) {
  return Reader(path, nics, when_sent).read();
}

}  // namespace mrc::sim
