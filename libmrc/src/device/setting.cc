#include "device/setting.h"

#include <algorithm>
#include <charconv>

namespace mrc::device {

namespace {

Result<SettingValue> parse_flag(const std::string& text) {
  for (const char* word : {"true", "yes", "on", "1"})
    if (text == word) return SettingValue(true);
  for (const char* word : {"false", "no", "off", "0"})
    if (text == word) return SettingValue(false);
  return invalid("");
}

template <typename T>
Result<SettingValue> parse_number(const std::string& text, T min, T max) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || !(value >= min && value <= max)) return invalid("");
  return SettingValue(value);
}

Result<SettingValue> parse_word(const std::string& text, const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) return invalid("");
  return SettingValue(static_cast<size_t>(found - words.begin()));
}

Result<SettingValue> parse_value(const SettingRow& row, const std::string& text) {
  switch (row.type) {
    case SettingType::kInt:
      if (*row.zero_word != 0 && text == row.zero_word) return SettingValue(int64_t{0});
      return parse_number(text, row.int_min, row.int_max);
    case SettingType::kReal:
      return parse_number(text, row.min, row.max);
    case SettingType::kFlag:
      return parse_flag(text);
    case SettingType::kWord:
      return parse_word(text, row.words);
    case SettingType::kText:
      break;
  }
  return SettingValue(text);
}

const std::string& shown_default(const SettingRow& row) {
  static const std::string empty = "(empty)";
  return row.default_text.empty() ? empty : row.default_text;
}

}  // namespace

std::string number_text(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr);
}

std::string SettingRow::allowed() const {
  std::string text;
  switch (type) {
    case SettingType::kInt:
      text = std::to_string(int_min) + ".." + std::to_string(int_max);
      break;
    case SettingType::kReal:
      text = number_text(min) + ".." + number_text(max);
      break;
    case SettingType::kFlag:
      text = "true or false";
      break;
    case SettingType::kWord:
      for (size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
      break;
    case SettingType::kText:
      text = "text";
      break;
  }
  if (*unit != 0) text += std::string(" ") + unit;
  return *zero_word == 0 ? text : text + " or " + zero_word;
}

Result<SettingValue> SettingRow::parse(const std::string& text) const {
  Result<SettingValue> value = parse_value(*this, text);
  if (!value) return invalid("value is '" + text + "', allowed: " + allowed());
  return value;
}

std::string setting_markdown(const SettingRow& row) {
  return std::string("| `") + row.name + "` | `" + row.environment + "` | " + shown_default(row) + " | " +
         row.allowed() + " | " + row.sentence + " |\n";
}

std::string setting_help(const SettingRow& row) {
  return row.environment + "\n    " + row.sentence + ".\n    Default " + shown_default(row) +
         ", allowed: " + row.allowed() + ".\n";
}

}  // namespace mrc::device
