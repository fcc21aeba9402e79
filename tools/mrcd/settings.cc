#include "settings.h"

#include "device/config_file.h"
#include "device/yaml_reader.h"

namespace mrc::mrcd {

namespace {

// Of the section of one map, if it has one.
Status read_section(const device::YamlReader& reader, const YAML::Node& map, Settings* settings) {
  const YAML::Node section = map[device::kDaemonSection];
  if (!section.IsDefined() || section.IsNull()) return {};
  const device::SettingKeys keys = device::keys_of(setting_table(), settings);
  return reader.map(section, device::kDaemonSection, {}, &keys, nullptr);
}

Status read_file(const std::string& text, const std::string& file, std::vector<Settings>* all) {
  const device::YamlReader reader(file);
  return reader.document(text, [&](const YAML::Node& root) -> Status {
    if (!root.IsMap()) return {};
    Settings common;
    if (Status read = read_section(reader, root, &common); !read) return read;
    all->assign(all->size(), common);
    const YAML::Node devices = root["devices"];
    for (size_t i = 0; devices.IsDefined() && devices.IsSequence() && i < all->size() && i < devices.size(); ++i)
      if (Status read = read_section(reader, devices[i], &(*all)[i]); !read) return read;
    return {};
  });
}

}  // namespace

std::string Settings::origin_of(const std::string& name) const {
  const auto set = origins.find(name);
  return set != origins.end() ? set->second : "setting '" + name + "' of mrcd";
}

const std::vector<Setting>& setting_table() {
  using Values = Settings;
  const device::SettingMaker<Settings> make("MRC_MRCD_");
  static const std::vector<Setting> table = {MRC_SETTING_ROWS(MRCD_SETTINGS)};
  return table;
}

Result<std::vector<Settings>> parse_settings(const std::string& text, const std::string& file, size_t devices,
                                             device::GetEnv env) {
  std::vector<Settings> all(devices);
  if (Status read = read_file(text, file, &all); !read) return std::move(read).error();
  for (Settings& settings : all)
    if (Status read = device::read_environment(device::keys_of(setting_table(), &settings), env); !read)
      return std::move(read).error();
  return all;
}

std::string settings_markdown() {
  std::string text =
      "# Settings of mrcd\n\n"
      "Generated from the table in `tools/mrcd/settings.h`; regenerate it with\n"
      "`MRC_WRITE_SPEC=1 build/dev/tests/fast/mrcd/virtual_mrcd_test --gtest_filter='MrcdSettings.markdown*'`.\n\n"
      "They stand in the section `mrcd` of the configuration file, at the top level or in the entry of one device, or\n"
      "in the environment, which overrides the file; the section of a device overrides that of the top level. `state`,\n"
      "`http` and `token` are those of the first device. Processes with MRC devices ignore the section. `mrcd_socket` and\n"
      "`ctl_group`, which these processes read, too, are in `spec/settings.md`.\n\n"
      "```yaml\n"
      "mrcd:\n"
      "  probe_rate: 100\n"
      "  peers: fd00:0:1::8, fd00:0:1::9\n"
      "```\n\n";
  text += device::kSettingColumns;
  for (const Setting& row : setting_table()) text += device::setting_markdown(row);
  return text;
}

std::string settings_help() {
  std::string text =
      "Settings of mrcd alone, by environment, or in the section 'mrcd' of the configuration file by the name without\n"
      "MRC_MRCD_ in lower case:\n";
  for (const Setting& row : setting_table()) text += device::setting_help(row);
  return text;
}

}  // namespace mrc::mrcd
