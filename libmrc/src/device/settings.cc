#include "device/settings.h"

#include <nlohmann/json.hpp>

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

}  // namespace

const std::vector<Setting>& setting_table() {
  using Values = Settings;
  const SettingMaker<Settings> make("MRC_");
  static const std::vector<Setting> table = {MRC_SETTING_ROWS(MRC_SETTINGS)};
  return table;
}

const Setting* find_setting(const std::string& name) {
  return find_setting(setting_table(), name);
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
      {"mrcd_state", "MRC_MRCD_STATE", "mrcd: {state: FILE}", true},
      {"mrcd_http", "MRC_MRCD_HTTP", "mrcd: {http: 'ADDRESS:PORT'}", true},
      {"mrcd_token", "MRC_MRCD_TOKEN", "mrcd: {token: TOKEN}", true},
      {"mrcd_probe_rate", "MRC_MRCD_PROBE_RATE", "mrcd: {probe_rate: NUMBER}", true},
      {"mrcd_probe_share", "MRC_MRCD_PROBE_SHARE", "mrcd: {probe_share: NUMBER}", true},
      {"mrcd_probe_loss", "MRC_MRCD_PROBE_LOSS", "mrcd: {probe_loss: NUMBER}", true},
      {"mrcd_peers", "MRC_MRCD_PEERS", "mrcd: {peers: 'ADDRESS ADDRESS'}", true},
      {"mrcd_peer_port", "MRC_MRCD_PEER_PORT", "mrcd: {peer_port: PORT}", true},
  };
  return table;
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
    if (*s.zero_word != 0) row["words"] = nlohmann::ordered_json::array({s.zero_word});
    row["unit"] = s.unit;
    row["sentence"] = s.sentence;
    if (s.text_value == &Settings::fault) row["help"] = datapath::fault_help();
    all.push_back(row);
  }
  return all.dump(2);
}

std::string settings_markdown() {
  std::string text =
      "# Settings\n\n"
      "Generated from the table in `libmrc/src/device/settings.h`; regenerate it with\n"
      "`MRC_WRITE_SPEC=1 build/dev/tests/fast/unit/virtual_device_test --gtest_filter='Settings.markdown*'`.\n\n"
      "A setting is given in the configuration file, at the top level (for all devices) or in the entry of one device,\n"
      "or in the environment. The environment overrides the file, a device's entry the top level, and each of them\n"
      "the default. The file is the one named by `MRC_CONFIG`, else `/etc/mrc/mrc.yaml` if it exists. A value that is\n"
      "not allowed is refused, and so is an unknown key. A variable that looks like a misspelt setting is\n"
      "named in the log.\n"
      "Settings of the daemon alone are in `tools/mrcd/SETTINGS.md`.\n\n";
  text += kSettingColumns;
  for (const Setting& s : setting_table()) text += setting_markdown(s);
  return text;
}

}  // namespace mrc::device
