// mrcd's own settings: section of the configuration file, environment, documentation. [MRC-MRCD-8]
#include "settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "device/config.h"
#include "device/environment.h"
#include "device/settings.h"

namespace mrc::mrcd {
namespace {

std::map<std::string, std::string>* variables;

const char* fake_env(const char* name) {
  const auto it = variables->find(name);
  return it == variables->end() ? nullptr : it->second.c_str();
}

struct MrcdSettings : ::testing::Test {
  void SetUp() override { variables = &env; }
  // Empty when accepted.
  std::string parse(const std::string& text, size_t devices = 1) {
    auto result = parse_settings(text, "f.yaml", devices, fake_env);
    if (!result) {
      EXPECT_EQ(result.error().code, EINVAL);
      return result.error().text;
    }
    all = *std::move(result);
    return "";
  }
  std::map<std::string, std::string> env;
  std::vector<Settings> all;
};

TEST_F(MrcdSettings, section__values_arrive_with_their_origin) {
  ASSERT_EQ(parse("ev_count: 8\nmrcd:\n  probe_rate: 12.5\n  peers: fd00::1\n  peer_port: 9000\n"), "");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].probe_rate, 12.5);
  EXPECT_EQ(all[0].peers, "fd00::1");
  EXPECT_EQ(all[0].peer_port, 9000);
  EXPECT_EQ(all[0].probe_loss, 0.02);
  EXPECT_EQ(all[0].origin_of("peers"), "f.yaml:4: key 'peers'");
  EXPECT_EQ(all[0].origin_of("http"), "setting 'http' of mrcd");
}

TEST_F(MrcdSettings, section__absent_or_empty_means_the_defaults) {
  for (const char* text : {"", "# nothing\n", "mrcd:\n", "mrcd: {}\n", "devices:\n"}) {
    ASSERT_EQ(parse(text), "") << text;
    EXPECT_EQ(all[0].http, "127.0.0.1:9417");
  }
}

TEST_F(MrcdSettings, precedence__environment_over_device_over_top_level) {
  const char* text =
      "devices:\n"
      "  - planes: [{address: \"::1\"}]\n"
      "    mrcd: {probe_rate: 7}\n"
      "  - planes: [{address: \"::1\"}]\n"
      "mrcd: {probe_rate: 5, probe_share: 0.5}\n";
  ASSERT_EQ(parse(text, 2), "");
  EXPECT_EQ(all[0].probe_rate, 7);
  EXPECT_EQ(all[0].probe_share, 0.5);
  EXPECT_EQ(all[1].probe_rate, 5);
  env = {{"MRC_MRCD_PROBE_RATE", "9"}};
  ASSERT_EQ(parse(text, 2), "");
  EXPECT_EQ(all[0].probe_rate, 9);
  EXPECT_EQ(all[1].probe_rate, 9);
  EXPECT_EQ(all[1].origin_of("probe_rate"), "environment: MRC_MRCD_PROBE_RATE");
}

TEST_F(MrcdSettings, refused__with_file_line_key_and_what_is_allowed) {
  EXPECT_EQ(parse("mrcd:\n  state: x\n  probe_rat: 1\n"),
            "f.yaml:3: unknown key 'probe_rat', did you mean 'probe_rate'? Allowed: state, http, token, probe_rate, "
            "probe_share, probe_loss, peers, peer_port");
  EXPECT_EQ(parse("mrcd:\n  probe_share: 2\n"), "f.yaml:2: key 'probe_share': value is '2', allowed: 0..1");
  EXPECT_EQ(parse("mrcd:\n  peer_port: [1]\n"), "f.yaml:2: key 'peer_port': allowed: 1..65535");
  EXPECT_EQ(parse("mrcd:\n  token: a\n  token: b\n"), "f.yaml:3: key 'token' is given twice");
  EXPECT_EQ(parse("devices:\n  - planes: [{address: \"::1\"}]\n    mrcd: {probe_loss: 0}\n"),
            "f.yaml:3: key 'probe_loss': value is '0', allowed: 0.001..1");
  env = {{"MRC_MRCD_PEER_PORT", "65536"}};
  EXPECT_EQ(parse(""), "environment: MRC_MRCD_PEER_PORT: value is '65536', allowed: 1..65535");
}

// A key of an earlier version names its replacement, and a variable of mrcd is not taken for a misspelt one by libmrc.
TEST_F(MrcdSettings, table__agrees_with_what_libmrc_knows_of_it) {
  size_t former_keys = 0;
  for (const device::FormerSetting& former : device::former_settings()) {
    if (!former.only_key) continue;
    ++former_keys;
    const Setting* row = device::find_setting(setting_table(), std::string(former.name).substr(5));
    ASSERT_NE(row, nullptr) << former.name;
    EXPECT_EQ(row->environment, former.environment);
    EXPECT_EQ(std::string(former.now).rfind(std::string("mrcd: {") + row->name + ": ", 0), 0u) << former.now;
  }
  EXPECT_EQ(former_keys, 8u);
  for (const Setting& row : setting_table()) {
    EXPECT_EQ(device::find_setting(row.name), nullptr) << row.name;
    const std::string variable = row.environment + "=1";
    const char* const environment[] = {variable.c_str(), nullptr};
    EXPECT_TRUE(device::misspelt_variables(environment).empty()) << variable;
  }
}

TEST_F(MrcdSettings, table__both_ends_of_every_range) {
  for (const Setting& row : setting_table()) {
    EXPECT_GT(std::string(row.sentence).size(), 10u) << row.name;
    Settings settings;
    EXPECT_TRUE(row.set(row.default_text, &settings)) << row.name;
    if (row.type == device::SettingType::kText) continue;
    const bool whole = row.type == device::SettingType::kInt;
    const auto text = [&](double real, int64_t integer) {
      return whole ? std::to_string(integer) : device::number_text(real);
    };
    EXPECT_TRUE(row.set(text(row.min, row.int_min), &settings)) << row.name;
    EXPECT_TRUE(row.set(text(row.max, row.int_max), &settings)) << row.name;
    EXPECT_FALSE(row.set(text(row.min - 0.0001, row.int_min - 1), &settings)) << row.name;
    EXPECT_FALSE(row.set(text(row.max + 0.0001, row.int_max + 1), &settings)) << row.name;
  }
}

TEST_F(MrcdSettings, markdown__page_is_current) {
  const std::string path = MRC_SOURCE_DIR "/tools/mrcd/SETTINGS.md";
  if (std::getenv("MRC_WRITE_SPEC") != nullptr) std::ofstream(path) << settings_markdown();
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(text == settings_markdown()) << "MRC_WRITE_SPEC=1 writes it anew";
}

TEST_F(MrcdSettings, help__names_every_variable_and_default) {
  const std::string help = settings_help();
  for (const Setting& row : setting_table()) EXPECT_NE(help.find(row.environment), std::string::npos) << row.name;
  EXPECT_NE(help.find("Default 127.0.0.1:9417, allowed: text."), std::string::npos);
}

}  // namespace
}  // namespace mrc::mrcd
