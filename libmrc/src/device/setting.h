// One row of a table of settings: name, type, default, range or allowed words, unit and sentence, and the member of the
// table's struct S that holds the value. libmrc's table is in settings.h, mrcd's in tools/mrcd/settings.h; parser,
// messages, help and documentation are the same for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "result.h"

namespace mrc::device {

enum class SettingType : uint8_t { kInt, kReal, kFlag, kWord, kText };

// By type; of a word its index.
using SettingValue = std::variant<int64_t, double, bool, size_t, std::string>;

// What does not depend on the struct.
struct SettingRow {
  const char* name = "";
  std::string environment;
  SettingType type = SettingType::kText;
  double min = 0, max = 0;           // kReal
  int64_t int_min = 0, int_max = 0;  // kInt
  const char* zero_word = "";        // kInt: another way to write 0; empty: none
  std::vector<std::string> words;    // kWord
  const char* unit = "";
  const char* sentence = "";
  std::string default_text;

  // "1..1024 EVs", "0..64 engines or auto", "auto, on or off", "true or false", "text".
  std::string allowed() const;
  // EINVAL: "value is X, allowed: Y" with the range.
  Result<SettingValue> parse(const std::string& text) const;
};

std::string number_text(double value);

template <typename S>
struct TypedSetting : SettingRow {
  // Exactly one is set; both functions of a word.
  int64_t S::*int_value = nullptr;
  double S::*real_value = nullptr;
  bool S::*flag_value = nullptr;
  std::string S::*text_value = nullptr;
  size_t (*word_index)(const S& settings) = nullptr;  // into `words`
  void (*set_word)(S* settings, size_t index) = nullptr;

  std::string show(const S& settings) const {
    if (int_value != nullptr) return std::to_string(settings.*int_value);
    if (real_value != nullptr) return number_text(settings.*real_value);
    if (flag_value != nullptr) return settings.*flag_value ? "true" : "false";
    if (word_index != nullptr) return words[word_index(settings)];
    return settings.*text_value;
  }

  // Sets the value from text. EINVAL as parse(); settings untouched.
  Status set(const std::string& text, S* settings) const {
    Result<SettingValue> value = parse(text);
    if (!value) return std::move(value).error();
    if (int_value != nullptr)
      settings->*int_value = std::get<int64_t>(*value);
    else if (real_value != nullptr)
      settings->*real_value = std::get<double>(*value);
    else if (flag_value != nullptr)
      settings->*flag_value = std::get<bool>(*value);
    else if (set_word != nullptr)
      set_word(settings, std::get<size_t>(*value));
    else
      settings->*text_value = text;
    return {};
  }
};

// The parts of the documentation that are about one setting.
inline constexpr const char* kSettingColumns =
    "| setting | environment | default | allowed | meaning |\n|---|---|---|---|---|\n";
std::string setting_markdown(const SettingRow& row);  // a line under these columns
std::string setting_help(const SettingRow& row);      // for a terminal

}  // namespace mrc::device
