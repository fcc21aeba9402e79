// The table of settings: both ends of every range, every allowed word, and the generated documentation.
#include "device/settings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/congestion/registry.h"

namespace mrc::device {
namespace {

// Two numbers are in circulation; both are received on unless they are changed. [MRC-UDP-1] [MRC-CHOICE-Q1]
TEST(Settings, both_ports_of_mrc_are_the_defaults) {
  EXPECT_EQ(Settings().port, 4791);
  EXPECT_EQ(Settings().second_port, 4971);
}

bool accepts(const Setting& s, const std::string& text, std::string* why = nullptr) {
  Settings settings;
  const Status set = s.set(text, &settings);
  const bool good = set.has_value();
  if (!good && why != nullptr) *why = set.error().text;
  if (good && s.type != SettingType::kFlag && s.type != SettingType::kReal) {
    EXPECT_EQ(s.show(settings), text) << s.name;
  }
  if (!good) {
    EXPECT_EQ(s.show(settings), s.show(Settings())) << s.name << ": a refused value must change nothing";
  }
  return good;
}

TEST(Settings, table__names_units_and_sentences) {
  std::set<std::string> names;
  for (const Setting& s : setting_table()) {
    EXPECT_TRUE(names.insert(s.name).second) << s.name;
    EXPECT_GT(std::string(s.sentence).size(), 10u) << s.name;
    std::string environment = "MRC_";
    for (const char* c = s.name; *c != 0; ++c) environment += static_cast<char>(std::toupper(*c));
    EXPECT_EQ(s.environment, environment);
    EXPECT_EQ(find_setting(s.name), &s);
    EXPECT_EQ((s.int_value != nullptr) + (s.real_value != nullptr) + (s.flag_value != nullptr) +
                  (s.text_value != nullptr) + (s.word_index != nullptr),
              1)
        << s.name;
  }
  EXPECT_EQ(find_setting("no_such_setting"), nullptr);
}

TEST(Settings, set__defaults_are_allowed) {
  for (const Setting& s : setting_table()) EXPECT_TRUE(accepts(s, s.show(Settings()))) << s.name;
}

TEST(Settings, set__both_sides_of_every_whole_number_range) {
  for (const Setting& s : setting_table()) {
    if (s.type != SettingType::kInt) continue;
    ASSERT_LT(s.int_min, s.int_max) << s.name;
    EXPECT_TRUE(accepts(s, std::to_string(s.int_min))) << s.name;
    EXPECT_TRUE(accepts(s, std::to_string(s.int_max))) << s.name;
    EXPECT_FALSE(accepts(s, std::to_string(s.int_min - 1))) << s.name;
    if (s.int_max != std::numeric_limits<int64_t>::max()) {
      EXPECT_FALSE(accepts(s, std::to_string(s.int_max + 1))) << s.name;
    }
    for (const char* bad : {"", "x", "1x", " 1", "1.5", "99999999999999999999"})
      EXPECT_FALSE(accepts(s, bad)) << s.name << " " << bad;
  }
}

TEST(Settings, set__both_sides_of_every_real_range) {
  for (const Setting& s : setting_table()) {
    if (s.type != SettingType::kReal) continue;
    ASSERT_LT(s.min, s.max) << s.name;
    char text[64];
    const auto write = [&](double v) {
      std::snprintf(text, sizeof text, "%.17g", v);
      return text;
    };
    EXPECT_TRUE(accepts(s, write(s.min))) << s.name;
    EXPECT_TRUE(accepts(s, write(s.max))) << s.name;
    EXPECT_FALSE(accepts(s, write(std::nextafter(s.min, -1e300)))) << s.name;
    EXPECT_FALSE(accepts(s, write(std::nextafter(s.max, 1e300)))) << s.name;
    for (const char* bad : {"", "x", "1us", "nan", "inf", "-inf"})
      EXPECT_FALSE(accepts(s, bad)) << s.name << " " << bad;
  }
}

TEST(Settings, set__words_and_flags) {
  for (const Setting& s : setting_table()) {
    if (s.type == SettingType::kWord) {
      EXPECT_GE(s.words.size(), 2u);
      for (const std::string& word : s.words) {
        EXPECT_TRUE(accepts(s, word)) << s.name;
        EXPECT_FALSE(accepts(s, word + "x")) << s.name;
      }
      EXPECT_FALSE(accepts(s, "")) << s.name;
    }
    if (s.type == SettingType::kFlag) {
      Settings settings;
      for (const char* word : {"true", "yes", "on", "1"}) {
        settings.*s.flag_value = false;
        EXPECT_TRUE(s.set(word, &settings));
        EXPECT_TRUE(settings.*s.flag_value);
      }
      for (const char* word : {"false", "no", "off", "0"}) {
        settings.*s.flag_value = true;
        EXPECT_TRUE(s.set(word, &settings));
        EXPECT_FALSE(settings.*s.flag_value);
      }
      for (const char* bad : {"", "2", "maybe", "TRUE"}) EXPECT_FALSE(accepts(s, bad)) << s.name;
    }
  }
}

TEST(Settings, set__says_value_and_range) {
  std::string why;
  EXPECT_FALSE(accepts(*find_setting("ev_count"), "0", &why));
  EXPECT_EQ(why, "value is '0', allowed: 1..1024 EVs");
  EXPECT_FALSE(accepts(*find_setting("gso"), "maybe", &why));
  EXPECT_EQ(why, "value is 'maybe', allowed: auto, on or off");
  EXPECT_FALSE(accepts(*find_setting("icrc"), "7", &why));
  EXPECT_EQ(why, "value is '7', allowed: true or false");
  EXPECT_FALSE(
      accepts(*find_setting("congestion_control"), "false", &why));  // the names are the registry's [MRC-CC-11]
  std::string names;
  const auto all = core::congestion_algorithms();
  for (size_t i = 0; i < all.size(); ++i)
    names += (i == 0 ? "" : i + 1 < all.size() ? ", " : " or ") + std::string(all[i]->name);
  EXPECT_EQ(why, "value is 'false', allowed: " + names);
  EXPECT_FALSE(accepts(*find_setting("mtu"), "1500", &why));
  EXPECT_EQ(why, "value is '1500', allowed: 256, 512, 1024, 2048, 4096 or 8192 bytes");
  EXPECT_FALSE(accepts(*find_setting("host_jitter_us"), "-1", &why));
  EXPECT_EQ(why, "value is '-1', allowed: 0..1000000 us");
}

// A number whose 0 has a meaning of its own may have a word for it.
TEST(Settings, set__a_word_is_zero_where_the_table_has_it) {
  Settings settings;
  const Setting& shards = *find_setting("shards");
  ASSERT_TRUE(shards.set("auto", &settings));
  EXPECT_EQ(settings.shards, 0);
  EXPECT_EQ(shards.show(settings), "0");
  std::string why;
  EXPECT_FALSE(accepts(shards, "Auto", &why));
  EXPECT_EQ(why, "value is 'Auto', allowed: 0..64 engines or auto");
  EXPECT_FALSE(accepts(*find_setting("ev_backups"), "auto", &why));
  EXPECT_EQ(why, "value is 'auto', allowed: 0..1024 EVs");
}

// Code compares enums; their words are what people write and read.
TEST(Settings, words__stand_for_the_values_of_their_enums) {
  EXPECT_EQ(value_of<EvMode>("srv6"), EvMode::kSrv6);
  EXPECT_EQ(value_of<EvMode>("SRv6"), std::nullopt);
  EXPECT_EQ(value_of<EvMode>(""), std::nullopt);
  EXPECT_STREQ(word_of(LogLevel::kDebug), "debug");
  for (const char* word : words_of<PathMtu>) EXPECT_EQ(std::to_string(bytes_of(value_of<PathMtu>(word).value())), word);
  Settings settings;
  const Setting& gso = *find_setting("gso");
  ASSERT_TRUE(gso.set("off", &settings));
  EXPECT_EQ(settings.gso, datapath::Offload::kOff);
  EXPECT_EQ(gso.show(settings), "off");
  EXPECT_FALSE(gso.set("of", &settings));
  EXPECT_EQ(settings.gso, datapath::Offload::kOff) << "a refused word changes nothing";
}

TEST(Settings, json__one_object_per_setting_with_current_value) {
  Settings current;
  current.ev_count = 17;
  current.gso = datapath::Offload::kOff;
  const auto all = nlohmann::json::parse(settings_json(current));
  ASSERT_EQ(all.size(), setting_table().size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]["name"], setting_table()[i].name);
  for (const auto& row : all) {
    if (row["name"] == "ev_count") {
      EXPECT_EQ(row["value"], 17);
      EXPECT_EQ(row["default"], 64);
      EXPECT_EQ(row["range"], nlohmann::json({1, 1024}));
      EXPECT_EQ(row["environment"], "MRC_EV_COUNT");
    }
    if (row["name"] == "shards") {
      EXPECT_EQ(row["range"], nlohmann::json({0, 64}));
      EXPECT_EQ(row["words"], nlohmann::json({"auto"}));
    }
    if (row["name"] == "gso") {
      EXPECT_EQ(row["value"], "off");
      EXPECT_EQ(row["words"], nlohmann::json({"auto", "on", "off"}));
    }
  }
}

TEST(Settings, markdown__spec_is_current) {
  const std::string path = MRC_SOURCE_DIR "/spec/settings.md";
  if (std::getenv("MRC_WRITE_SPEC") != nullptr) std::ofstream(path) << settings_markdown();
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(text == settings_markdown()) << "MRC_WRITE_SPEC=1 writes it anew";
}

}  // namespace
}  // namespace mrc::device
