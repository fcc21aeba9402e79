// What turns a table of settings (settings.h has the manner of its rows) into the members of a struct and into rows:
//
//     #define MY_SETTINGS(INT, REAL, FLAG, WORD, NAME, TEXT) INT(ev_count, 64, 1, 1024, "EVs", "...") ...
//     struct Values { MRC_SETTING_MEMBERS(MY_SETTINGS) };
//     const SettingMaker<Values> make("MRC_");
//     const std::vector<TypedSetting<Values>> table = {MRC_SETTING_ROWS(MY_SETTINGS)};
//
// The rows need `make` and the name `Values` in scope.
#pragma once

#include <absl/strings/str_split.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/setting.h"
#include "device/setting_words.h"

#define MRC_SETTING_INT(name, value, ...) int64_t name = value;
#define MRC_SETTING_REAL(name, value, ...) double name = value;
#define MRC_SETTING_FLAG(name, value, ...) bool name = value;
#define MRC_SETTING_WORD(name, type, value, ...) type name = type::value;
#define MRC_SETTING_TEXT(name, value, ...) std::string name = value;
#define MRC_SETTING_MEMBERS(table) \
  table(MRC_SETTING_INT, MRC_SETTING_REAL, MRC_SETTING_FLAG, MRC_SETTING_WORD, MRC_SETTING_TEXT, MRC_SETTING_TEXT)

#define MRC_SETTING_ROW(name, value, ...) make(&Values::name, #name, __VA_ARGS__),
#define MRC_SETTING_WORD_ROW(name, type, value, ...) make.word<&Values::name>(#name, __VA_ARGS__),
#define MRC_SETTING_ROWS(table) \
  table(MRC_SETTING_ROW, MRC_SETTING_ROW, MRC_SETTING_ROW, MRC_SETTING_WORD_ROW, MRC_SETTING_ROW, MRC_SETTING_ROW)

namespace mrc::device {

// Makes the rows of a table; `prefix` and the name in capitals are the environment variable.
template <typename S>
class SettingMaker {
 public:
  using Row = TypedSetting<S>;

  explicit SettingMaker(const char* prefix) : prefix_(prefix) {}

  Row operator()(int64_t S::*value, const char* name, int64_t min, int64_t max, const char* unit, const char* sentence,
                 const char* zero_word = "") const {
    Row row = base(name, SettingType::kInt, unit, sentence);
    row.int_value = value;
    row.int_min = min;
    row.int_max = max;
    row.zero_word = zero_word;
    return with_default(std::move(row));
  }
  Row operator()(double S::*value, const char* name, double min, double max, const char* unit,
                 const char* sentence) const {
    Row row = base(name, SettingType::kReal, unit, sentence);
    row.real_value = value;
    row.min = min;
    row.max = max;
    return with_default(std::move(row));
  }
  Row operator()(bool S::*value, const char* name, const char* sentence) const {
    Row row = base(name, SettingType::kFlag, "", sentence);
    row.flag_value = value;
    return with_default(std::move(row));
  }
  Row operator()(std::string S::*value, const char* name, const char* sentence) const {
    Row row = base(name, SettingType::kText, "", sentence);
    row.text_value = value;
    return with_default(std::move(row));
  }
  // A text that is one of `words`, which spaces separate.
  Row operator()(std::string S::*value, const char* name, const std::string& words, const char* unit,
                 const char* sentence) const {
    Row row = base(name, SettingType::kWord, unit, sentence);
    row.text_value = value;
    row.words = absl::StrSplit(words, ' ', absl::SkipEmpty());
    return with_default(std::move(row));
  }
  // An enum of setting_words.h.
  template <auto kMember>
  Row word(const char* name, const char* unit, const char* sentence) const {
    using Word = std::remove_reference_t<decltype(std::declval<S&>().*kMember)>;
    Row row = base(name, SettingType::kWord, unit, sentence);
    row.words.assign(words_of<Word>.begin(), words_of<Word>.end());
    row.word_index = [](const S& settings) { return static_cast<size_t>(settings.*kMember); };
    row.set_word = [](S* settings, size_t index) { settings->*kMember = static_cast<Word>(index); };
    return with_default(std::move(row));
  }

 private:
  Row base(const char* name, SettingType type, const char* unit, const char* sentence) const {
    Row row;
    row.name = name;
    row.type = type;
    row.unit = unit;
    row.sentence = sentence;
    row.environment = prefix_;
    for (const char* c = name; *c != 0; ++c)
      row.environment += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
    return row;
  }
  static Row with_default(Row row) {
    row.default_text = row.show(S());
    return row;
  }

  const char* prefix_;
};

// Null: no row of that name.
template <typename S>
const TypedSetting<S>* find_setting(const std::vector<TypedSetting<S>>& table, const std::string& name) {
  for (const TypedSetting<S>& row : table)
    if (name == row.name) return &row;
  return nullptr;
}

}  // namespace mrc::device
