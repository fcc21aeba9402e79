#include "device/settings.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>
#include <utility>

#include "core/congestion/registry.h"
#include "datapath/fault.h"

namespace mrc::device {

namespace {

// The words are listed in the order of the enumerators; these enums are defined elsewhere.
static_assert(value_of<datapath::Offload>("auto") == datapath::Offload::kAuto);
static_assert(value_of<datapath::Offload>("on") == datapath::Offload::kOn);
static_assert(value_of<datapath::Offload>("off") == datapath::Offload::kOff);
static_assert(value_of<datapath::RawIo>("auto") == datapath::RawIo::kAuto);
static_assert(value_of<datapath::RawIo>("xdp") == datapath::RawIo::kXdp);
static_assert(value_of<datapath::RawIo>("packet") == datapath::RawIo::kPacket);

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Setting base(const char* name, SettingType type, const char* unit, const char* sentence) {
  Setting s;
  s.name = name;
  s.type = type;
  s.unit = unit;
  s.sentence = sentence;
  s.environment = "MRC_";
  for (const char* c = name; *c != 0; ++c) s.environment += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
  return s;
}

Setting make(int64_t Settings::*value, const char* name, int64_t min, int64_t max, const char* unit,
             const char* sentence) {
  Setting s = base(name, SettingType::kInt, unit, sentence);
  s.int_value = value;
  s.int_min = min;
  s.int_max = max;
  return s;
}

Setting make(double Settings::*value, const char* name, double min, double max, const char* unit,
             const char* sentence) {
  Setting s = base(name, SettingType::kReal, unit, sentence);
  s.real_value = value;
  s.min = min;
  s.max = max;
  return s;
}

Setting make(bool Settings::*value, const char* name, const char* sentence) {
  Setting s = base(name, SettingType::kFlag, "", sentence);
  s.flag_value = value;
  return s;
}

Setting make(std::string Settings::*value, const char* name, const std::string& words, const char* unit,
             const char* sentence) {
  Setting s = base(name, SettingType::kWord, unit, sentence);
  s.text_value = value;
  s.words = split_words(words);
  return s;
}

template <auto kMember>
Setting make_word(const char* name, const char* unit, const char* sentence) {
  using Word = std::remove_reference_t<decltype(std::declval<Settings&>().*kMember)>;
  Setting s = base(name, SettingType::kWord, unit, sentence);
  s.words.assign(words_of<Word>.begin(), words_of<Word>.end());
  s.word_index = [](const Settings& settings) { return static_cast<size_t>(settings.*kMember); };
  s.set_word = [](Settings* settings, size_t index) { settings->*kMember = static_cast<Word>(index); };
  return s;
}

Setting make(std::string Settings::*value, const char* name, const char* sentence) {
  Setting s = base(name, SettingType::kText, "", sentence);
  s.text_value = value;
  return s;
}

std::string number(double v) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), v, std::chars_format::fixed).ptr);
}

bool parse_flag(const std::string& text, bool* out) {
  for (const char* word : {"true", "yes", "on", "1"})
    if (text == word) return *out = true;
  for (const char* word : {"false", "no", "off", "0"})
    if (text == word) return *out = false, true;
  return false;
}

template <typename T>
bool parse_number(const std::string& text, T min, T max, T* out) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || !(value >= min && value <= max)) return false;
  *out = value;
  return true;
}

}  // namespace

const std::vector<Setting>& setting_table() {
#define MRC_SETTING_ROW(name, value, ...) make(&Settings::name, #name, __VA_ARGS__),
#define MRC_SETTING_WORD_ROW(name, type, value, ...) make_word<&Settings::name>(#name, __VA_ARGS__),
  static const std::vector<Setting> table = {MRC_SETTINGS(MRC_SETTING_ROW, MRC_SETTING_ROW, MRC_SETTING_ROW,
                                                          MRC_SETTING_WORD_ROW, MRC_SETTING_ROW, MRC_SETTING_ROW)};
#undef MRC_SETTING_ROW
#undef MRC_SETTING_WORD_ROW
  return table;
}

const Setting* find_setting(const std::string& name) {
  for (const Setting& s : setting_table())
    if (name == s.name) return &s;
  return nullptr;
}

const std::vector<FormerSetting>& former_settings() {
  static const std::vector<FormerSetting> table = {
      {"nscc_target_floor_us", "MRC_NSCC_TARGET_FLOOR_US", "host_jitter_us"},
      {"nscc_target_delay_us", "MRC_NSCC_TARGET_DELAY_US", "congestion_parameters: target_delay=15us"},
      {"nscc_max_window", "MRC_NSCC_MAX_WINDOW", "congestion_parameters: max_cwnd=BYTES"},
      {"nscc_gamma", "MRC_NSCC_GAMMA", "congestion_parameters: gamma=NUMBER"},
      {"nscc_max_decrease", "MRC_NSCC_MAX_DECREASE", "congestion_parameters: max_md_jump=NUMBER"},
      {"nscc_eta", "MRC_NSCC_ETA", "congestion_parameters: eta=BYTES"},
      {"nscc_fi", "MRC_NSCC_FI", "congestion_parameters: fi=BYTES"},
      {"nscc_fi_scale", "MRC_NSCC_FI_SCALE", "congestion_parameters: fi_scale=NUMBER"},
      {"nscc_qa_gate", "MRC_NSCC_QA_GATE", "congestion_parameters: qa_gate=NUMBER"},
      {"nscc_qa_threshold_us", "MRC_NSCC_QA_THRESHOLD_US", "congestion_parameters: qa_threshold=15us"},
      {"nscc_adjust_bytes", "MRC_NSCC_ADJUST_BYTES", "congestion_parameters: adjust_bytes=BYTES"},
      {"nscc_adjust_period_us", "MRC_NSCC_ADJUST_PERIOD_US", "congestion_parameters: adjust_period=15us"},
      {"nscc_quick_adapt", "MRC_NSCC_QUICK_ADAPT", "congestion_parameters: disable_qa=true"},
      {"nscc_sticky_qa_trigger", "MRC_NSCC_STICKY_QA_TRIGGER", "congestion_parameters: sticky_qa_trigger=true"},
      {"nscc_mode", "MRC_NSCC_MODE", "nothing: there is the specification's arithmetic only"},
  };
  return table;
}

std::string Setting::allowed() const {
  std::string text;
  switch (type) {
    case SettingType::kInt:
      text = std::to_string(int_min) + ".." + std::to_string(int_max);
      break;
    case SettingType::kReal:
      text = number(min) + ".." + number(max);
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
  return *unit == 0 ? text : text + " " + unit;
}

std::string Setting::show(const Settings& settings) const {
  if (int_value != nullptr) return std::to_string(settings.*int_value);
  if (real_value != nullptr) return number(settings.*real_value);
  if (flag_value != nullptr) return settings.*flag_value ? "true" : "false";
  if (word_index != nullptr) return words[word_index(settings)];
  return settings.*text_value;
}

Status set_setting(const Setting& setting, const std::string& text, Settings* settings) {
  bool good = false;
  switch (setting.type) {
    case SettingType::kInt:
      good = parse_number(text, setting.int_min, setting.int_max, &(settings->*setting.int_value));
      break;
    case SettingType::kReal:
      good = parse_number(text, setting.min, setting.max, &(settings->*setting.real_value));
      break;
    case SettingType::kFlag:
      good = parse_flag(text, &(settings->*setting.flag_value));
      break;
    case SettingType::kWord:
      for (size_t i = 0; i < setting.words.size(); ++i) {
        if (setting.words[i] != text) continue;
        good = true;
        if (setting.set_word != nullptr)
          setting.set_word(settings, i);
        else
          settings->*setting.text_value = text;
      }
      break;
    case SettingType::kText:
      good = true;
      settings->*setting.text_value = text;
      break;
  }
  if (!good) return invalid("value is '" + text + "', allowed: " + setting.allowed());
  return {};
}

std::string settings_json(const Settings& current) {
  const Settings defaults;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Setting& s : setting_table()) {
    nlohmann::ordered_json row = {{"name", s.name}, {"environment", s.environment}};
    const auto value_of = [&s](const Settings& from) -> nlohmann::ordered_json {
      if (s.int_value != nullptr) return from.*s.int_value;
      if (s.real_value != nullptr) return from.*s.real_value;
      if (s.flag_value != nullptr) return from.*s.flag_value;
      return s.show(from);
    };
    row["value"] = value_of(current);
    row["default"] = value_of(defaults);
    if (s.type == SettingType::kInt) row["range"] = {s.int_min, s.int_max};
    if (s.type == SettingType::kReal) row["range"] = {s.min, s.max};
    if (s.type == SettingType::kWord) row["words"] = s.words;
    row["unit"] = s.unit;
    row["sentence"] = s.sentence;
    if (s.text_value == &Settings::fault) row["help"] = datapath::fault_help();
    all.push_back(row);
  }
  return all.dump(2);
}

std::string settings_markdown() {
  const Settings defaults;
  std::string text =
      "# Settings\n\n"
      "Generated from the table in `libmrc/src/device/settings.h`; regenerate it with\n"
      "`MRC_WRITE_SPEC=1 ctest -R Settings.markdown`.\n\n"
      "A setting is given in the configuration file, at the top level (for all devices) or in the entry of one device,\n"
      "or in the environment. The environment overrides the file, a device's entry the top level, and each of them\n"
      "the default. The file is the one named by `MRC_CONFIG`, else `/etc/mrc/mrc.yaml` if it exists. A value that is\n"
      "not allowed is refused, and so is an unknown key. A variable that looks like a misspelt setting is\n"
      "named in the log (`MRC_LOG=warn`).\n\n"
      "| setting | environment | default | allowed | meaning |\n|---|---|---|---|---|\n";
  for (const Setting& s : setting_table()) {
    const std::string value = s.show(defaults);
    text += std::string("| `") + s.name + "` | `" + s.environment + "` | " + (value.empty() ? "(empty)" : value) +
            " | " + s.allowed() + " | " + s.sentence + " |\n";
  }
  return text;
}

std::string settings_help() {
  const Settings defaults;
  std::string text;
  for (const Setting& s : setting_table()) {
    const std::string value = s.show(defaults);
    text += s.environment + "\n    " + s.sentence + ".\n    Default " + (value.empty() ? "(empty)" : value) +
            ", allowed: " + s.allowed() + ".\n";
  }
  return text;
}

}  // namespace mrc::device
