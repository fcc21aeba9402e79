// Devices of the configuration and those made for processes: limits, and when one is dropped. [MRC-MRCD-4]
#include "devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace mrc::mrcd {
namespace {

ctl::Registration registration(const std::string& device, uint32_t planes = 2, uint32_t evs = 16) {
  ctl::Registration r;
  r.device = device;
  r.planes = planes;
  r.ev_mode = "srv6";
  r.evs = evs;
  return r;
}

struct Owner {
  std::set<const SharedDevice*> open;
  std::vector<std::string> dropped;
  int changes = 0;
  Devices devices{Devices::Context{[this](const SharedDevice* device) { return open.contains(device); },
                                   [this](const std::string& name) { dropped.push_back(name); },
                                   [this] { ++changes; }}};
};

TEST(Devices, an_empty_name_means_the_first) {
  Owner owner;
  EXPECT_EQ(owner.devices.find(""), nullptr);
  owner.devices.add(std::make_unique<SharedDevice>("zeta", 2, "srv6", 16));
  owner.devices.add(std::make_unique<SharedDevice>("alpha", 2, "srv6", 16));
  ASSERT_NE(owner.devices.find(""), nullptr);
  EXPECT_EQ(owner.devices.find("")->name(), "zeta");
  EXPECT_EQ(owner.devices.find("alpha")->name(), "alpha");
  EXPECT_EQ(owner.devices.find("beta"), nullptr);
  EXPECT_EQ(owner.devices.names(), std::vector<std::string>({"zeta", "alpha"}));
}

TEST(Devices, make__refuses_impossible_shapes) {
  Owner owner;
  EXPECT_EQ(owner.devices.make(registration("a", 0)), nullptr);
  EXPECT_NE(owner.devices.make(registration("b", 1)), nullptr);
  EXPECT_NE(owner.devices.make(registration("c", 32)), nullptr);
  EXPECT_EQ(owner.devices.make(registration("d", 33)), nullptr);
  ctl::Registration mode = registration("e");
  mode.ev_mode = std::string(65, 'm');
  EXPECT_EQ(owner.devices.make(mode), nullptr);
  mode.ev_mode.pop_back();
  EXPECT_NE(owner.devices.make(mode), nullptr);
}

TEST(Devices, make__limits_the_entropy_values) {
  Owner owner;
  EXPECT_EQ(owner.devices.make(registration("a", 2, 4096))->evs(), 4096u);
  EXPECT_EQ(owner.devices.make(registration("b", 2, 4097))->evs(), 4096u);
}

TEST(Devices, make__makes_sixteen_that_are_in_use) {
  Owner owner;
  owner.devices.add(std::make_unique<SharedDevice>("mrc0", 2, "srv6", 16));
  for (int i = 0; i < 16; ++i) {
    const SharedDevice* const made = owner.devices.make(registration("made" + std::to_string(i)));
    ASSERT_NE(made, nullptr) << i;
    owner.open.insert(made);
  }
  EXPECT_EQ(owner.devices.make(registration("one more")), nullptr);
  owner.open.erase(owner.devices.find("made3"));
  EXPECT_NE(owner.devices.make(registration("one more")), nullptr) << "in place of one that none uses";
  EXPECT_EQ(owner.dropped, std::vector<std::string>({"made3"}));
}

TEST(Devices, drop_if_unused__keeps_what_is_open_configured_or_of_the_configuration) {
  Owner owner;
  owner.devices.add(std::make_unique<SharedDevice>("mrc0", 2, "srv6", 16));
  SharedDevice* const made = owner.devices.make(registration("made"));
  owner.devices.drop_if_unused(owner.devices.find("mrc0"));
  owner.open.insert(made);
  owner.devices.drop_if_unused(made);
  owner.open.clear();
  EXPECT_EQ(made->set_port(1, false), 0);
  owner.devices.drop_if_unused(made);
  EXPECT_EQ(owner.dropped, std::vector<std::string>());
  EXPECT_EQ(made->set_port(1, true), 0);
  owner.devices.drop_if_unused(made);
  EXPECT_EQ(owner.dropped, std::vector<std::string>({"made"}));
  EXPECT_EQ(owner.devices.names(), std::vector<std::string>({"mrc0"}));
}

// [MRC-MRCD-7]
TEST(Devices, changed__replaces_the_entry_of_another_shape_in_the_file) {
  const nlohmann::json file = {
      {"version", 1},
      {"devices",
       {{"far", {{"calls", nlohmann::json::array()}, {"denies", nlohmann::json::array()}, {"ports_down", {4}}}}}}};
  Owner owner;
  ASSERT_TRUE(owner.devices.restore(file));
  SharedDevice* const made = owner.devices.make(registration("far", 1));
  EXPECT_EQ(owner.devices.file_state(), file) << "waits for a device with a port 4";
  EXPECT_EQ(made->set_port(1, false), 0);
  EXPECT_EQ(owner.devices.file_state(), file);
  owner.devices.changed(made);
  EXPECT_EQ(owner.changes, 1);
  EXPECT_EQ(owner.devices.file_state()["devices"]["far"]["ports_down"], nlohmann::json({1}));
}

}  // namespace
}  // namespace mrc::mrcd
