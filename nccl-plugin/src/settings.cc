#include "settings.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>

#include "append_item.h"
#include "secure_environment.h"

namespace mrc::nccl {

namespace {

std::vector<std::string> words(const char* text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Numbers have NCCL's own syntax: decimal, 0x and hexadecimal, 0 and octal.
bool parse(const char* text, const Setting& setting, int64_t* out) {
  char* stopped = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &stopped, 0);
  if (errno != 0 || stopped == text || *stopped != '\0' || value < setting.min || value > setting.max) return false;
  *out = value;
  return true;
}

bool parse(const char* text, const Setting& setting, std::string* out) {
  const std::vector<std::string> allowed = words(setting.allowed);
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), text) == allowed.end()) return false;
  *out = text;
  return true;
}

// The allowed values in words.
std::string range(const Setting& s) {
  if (s.text != nullptr) {
    std::string text;
    for (const std::string& word : words(s.allowed)) append_item(&text, word);
    return text.empty() ? "text" : text;
  }
  std::string text = std::to_string(s.min) + ".." + std::to_string(s.max);
  return *s.unit == '\0' ? text : text + " " + s.unit;
}

std::string value(const Settings& settings, const Setting& s) {
  if (s.number != nullptr) return std::to_string(settings.*s.number);
  return (settings.*s.text).empty() ? "(empty)" : settings.*s.text;
}

constexpr const char* kIntroduction = R"(# Settings of the NCCL plugin

Made from the table in `nccl-plugin/src/settings.h`; write it anew with
`MRC_WRITE_SPEC=1 build/dev/tests/fast/nccl/nccl_core_test --gtest_filter='NcclSettings.markdown*'`.

All of them are environment variables, read when NCCL initialises its first communicator. Of two names,
the first takes precedence. Numbers are decimal, hexadecimal after 0x, octal after 0, as in NCCL's own
variables. A value that is not allowed is reported in NCCL's log (`NCCL_DEBUG=WARN`) and the default is used; a variable
`NCCL_MRC_*` that nothing reads is named there.

The environment is their only source, as it is for NCCL's own variables. Before it loads a plugin, NCCL adds to it the
assignments of `/etc/nccl.conf` and of the file that `NCCL_CONF_FILE` names (observed with 2.28.9), so that they may be
made there, too; a variable that is set already keeps its value. The devices of a host are the same for all its programs
and have one file, which `MRC_CONFIG` names: planes, MTU, congestion control, faults to inject, each also as a variable
`MRC_*` (`spec/settings.md`). Settings of a job under NCCL are not in that file, because they differ from job to job.

Three of NCCL's own variables matter here (as of 2.28.9). `NCCL_NET=MRC` makes it an error when the plugin cannot be
used; without it NCCL falls back to TCP, with a warning of the plugin; one that NCCL does not find cannot warn. `NCCL_NET_PLUGIN_REF_COUNT=1` is for programs that destroy all their
communicators and make new ones: NCCL otherwise forgets the plugin chosen. `NCCL_PROTO` must not demand
LL128, which NCCL itself chooses only where a network writes into GPU memory: its lines of 128 bytes would have to arrive
in order.

| variable | default | allowed | meaning |
|---|---|---|---|
)";

}  // namespace

const std::vector<Setting>& setting_table() {
  static const std::vector<Setting> table = {
#define NCCL_MRC_INT(member, name, second, value, min, max, unit, sentence) \
  {name, second, &Settings::member, nullptr, min, max, unit, "", sentence},
#define NCCL_MRC_TEXT(member, name, second, value, allowed, sentence) \
  {name, second, nullptr, &Settings::member, 0, 0, "", allowed, sentence},
      NCCL_MRC_SETTINGS(NCCL_MRC_INT, NCCL_MRC_TEXT)
#undef NCCL_MRC_INT
#undef NCCL_MRC_TEXT
  };
  return table;
}

std::vector<std::string> unread_variables(const char* const* environment) {
  constexpr char kPrefix[] = "NCCL_MRC_";
  std::vector<std::string> sentences;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string name(*environment, std::strcspn(*environment, "="));
    const auto read = [&](const Setting& s) { return name == s.name || name == s.second; };
    const std::vector<Setting>& table = setting_table();
    if (name.rfind(kPrefix, 0) != 0 || std::any_of(table.begin(), table.end(), read)) continue;
    sentences.push_back("Nothing reads " + name + ": man nccl-net-mrc and nccl-plugin/SETTINGS.md list the variables");
  }
  return sentences;
}

Settings settings_from_environment(std::vector<std::string>* complaints) {
  Settings settings;
  for (const Setting& s : setting_table()) {
    const char* name = s.name;
    const char* text = environment::variable(name);
    if (text == nullptr && *s.second != '\0') text = environment::variable(name = s.second);
    if (text == nullptr || *text == '\0') continue;
    if (s.text != nullptr ? parse(text, s, &(settings.*s.text)) : parse(text, s, &(settings.*s.number))) continue;
    complaints->push_back(std::string(name) + "=" + text + " is not in " + range(s) + "; " + value(settings, s) +
                          " is used");
  }
  return settings;
}

std::string settings_markdown() {
  const Settings defaults;
  std::string out = kIntroduction;
  for (const Setting& s : setting_table()) {
    out += std::string("| `") + s.name + "`" + (*s.second == '\0' ? "" : std::string(", `") + s.second + "`") + " | ";
    out += value(defaults, s) + " | " + range(s) + " | " + s.sentence + " |\n";
  }
  return out;
}

}  // namespace mrc::nccl
