#include "settings.h"

#include <charconv>
#include <cstdlib>

namespace mrc::nccl {

namespace {

bool parse(const char* text, const Setting& setting, int64_t* out) {
  const char* end = text + std::char_traits<char>::length(text);
  int64_t value = 0;
  const auto [stopped, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stopped != end || value < setting.least || value > setting.most) return false;
  *out = value;
  return true;
}

std::string range(const Setting& s) {
  std::string text = std::to_string(s.least) + ".." + std::to_string(s.most);
  return *s.unit == '\0' ? text : text + " " + s.unit;
}

}  // namespace

const std::vector<Setting>& setting_table() {
  static const std::vector<Setting> table = {
#define NCCL_MRC_INT(member, name, second, value, least, most, unit, sentence) \
  {name, second, &Settings::member, nullptr, least, most, unit, sentence},
#define NCCL_MRC_TEXT(member, name, second, value, sentence) \
  {name, second, nullptr, &Settings::member, 0, 0, "", sentence},
      NCCL_MRC_SETTINGS(NCCL_MRC_INT, NCCL_MRC_TEXT)
#undef NCCL_MRC_INT
#undef NCCL_MRC_TEXT
  };
  return table;
}

Settings settings_from_environment(std::vector<std::string>* complaints) {
  Settings settings;
  for (const Setting& s : setting_table()) {
    const char* name = s.name;
    const char* text = std::getenv(name);
    if (text == nullptr && *s.second != '\0') text = std::getenv(name = s.second);
    if (text == nullptr || *text == '\0') continue;
    if (s.text != nullptr) {
      settings.*s.text = text;
    } else if (!parse(text, s, &(settings.*s.number))) {
      complaints->push_back(std::string(name) + "=" + text + " is not in " + range(s) + "; " +
                            std::to_string(settings.*s.number) + " is used");
    }
  }
  return settings;
}

std::string settings_markdown() {
  const Settings defaults;
  std::string out =
      "# Settings of the NCCL plugin\n\n"
      "Made from the table in `nccl-plugin/src/settings.h`; write it anew with\n"
      "`MRC_WRITE_SPEC=1 ctest -R NcclSettings.markdown`.\n\n"
      "All of them are environment variables, read when NCCL initialises its first communicator. Where two names "
      "stand,\n"
      "the first goes before the second. A value that is not allowed is complained about in NCCL's log and the "
      "default\n"
      "is used. The transport below has settings of its own, `MRC_*` in `spec/settings.md`: paths, MTU, congestion\n"
      "control, faults to inject.\n\n"
      "| variable | default | allowed | meaning |\n|---|---|---|---|\n";
  for (const Setting& s : setting_table()) {
    out += std::string("| `") + s.name + "`" + (*s.second == '\0' ? "" : std::string(", `") + s.second + "`") + " | ";
    out += s.text != nullptr ? (defaults.*s.text).empty() ? "(empty)" : defaults.*s.text
                             : std::to_string(defaults.*s.number);
    out += std::string(" | ") + (s.text != nullptr ? "text" : range(s)) + " | " + s.sentence + " |\n";
  }
  return out;
}

}  // namespace mrc::nccl
