// Parts of the plugin's core that need no device: name filters, interface choice, a device's description, settings.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "device.h"
#include "gpu_memory.h"
#include "interfaces.h"
#include "name_filter.h"
#include "settings.h"

namespace mrc::nccl {

namespace {

TEST(NameFilter, empty_list_chooses_all) {
  EXPECT_TRUE(name_chosen("", "eth0"));
}

TEST(NameFilter, a_name_is_chosen_by_its_prefix) {
  EXPECT_TRUE(name_chosen("eth", "eth0"));
  EXPECT_TRUE(name_chosen("ib,eth", "eth0"));
  EXPECT_FALSE(name_chosen("eth1", "eth0"));
  EXPECT_FALSE(name_chosen("eth00", "eth0"));
}

TEST(NameFilter, an_equals_sign_requires_the_whole_name) {
  EXPECT_TRUE(name_chosen("=eth0", "eth0"));
  EXPECT_FALSE(name_chosen("=eth", "eth0"));
  EXPECT_TRUE(name_chosen("=ib0,eth0", "eth0"));
}

TEST(NameFilter, a_caret_excludes_the_names_of_the_list) {
  EXPECT_FALSE(name_chosen("^eth", "eth0"));
  EXPECT_TRUE(name_chosen("^docker,lo", "eth0"));
  EXPECT_FALSE(name_chosen("^docker,lo", "lo"));
  EXPECT_TRUE(name_chosen("^=eth", "eth0"));
  EXPECT_FALSE(name_chosen("^=eth0", "eth0"));
}

TEST(NameFilter, ports_and_empty_entries_are_ignored) {
  EXPECT_TRUE(name_chosen("=mrc0:1", "mrc0"));
  EXPECT_FALSE(name_chosen(",,", "mrc0"));
}

Interface interface(const char* name, const char* address) {
  Interface i{name, {}};
  if (inet_pton(AF_INET, address, &i.address.v4.sin_addr) == 1) {
    i.address.v4.sin_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, address, &i.address.v6.sin6_addr), 1);
    i.address.v6.sin6_family = AF_INET6;
  }
  return i;
}

std::string chosen(const std::vector<Interface>& all, const Settings& settings) {
  const Interface* found = choose_interface(all, settings);
  return found == nullptr ? "none" : found->name + " " + found->address.text();
}

TEST(Interfaces, order_without_settings) {
  std::vector<Interface> all = {interface("lo", "127.0.0.1"), interface("docker0", "172.17.0.1"),
                                interface("eth0", "10.0.0.1"), interface("ib0", "10.1.0.1")};
  EXPECT_EQ(chosen(all, {}), "ib0 10.1.0.1:0");
  all.pop_back();
  EXPECT_EQ(chosen(all, {}), "eth0 10.0.0.1:0");
  all.pop_back();
  EXPECT_EQ(chosen(all, {}), "docker0 172.17.0.1:0");
  all.pop_back();
  EXPECT_EQ(chosen(all, {}), "lo 127.0.0.1:0");
  all.pop_back();
  EXPECT_EQ(chosen(all, {}), "none");
}

TEST(Interfaces, name_and_family_by_setting) {
  const std::vector<Interface> all = {interface("eth0", "10.0.0.1"), interface("eth0", "2001:db8::1"),
                                      interface("eth1", "10.0.1.1")};
  Settings settings;
  settings.socket_ifname = "=eth1";
  EXPECT_EQ(chosen(all, settings), "eth1 10.0.1.1:0");
  settings.socket_family = "AF_INET6";
  EXPECT_EQ(chosen(all, settings), "none");
  settings.socket_ifname = "";
  EXPECT_EQ(chosen(all, settings), "eth0 [2001:db8::1]:0");
  settings.socket_ifname = "^eth";
  EXPECT_EQ(chosen(all, settings), "none");
}

// The device's own rate takes precedence over the speed of the port, which has only a few steps.
TEST(NcclDescription, the_line_rate_in_force_is_the_speed) {
  const auto speed = [](const std::string& text) {
    Device device;
    device.speed_mbps = 100000;  // of the port
    read_description(text, &device);
    return device.speed_mbps;
  };
  EXPECT_EQ(speed(R"({"line_rate_gbps": 50.0, "settings": {"line_rate_gbps": "0"}})"), 50000);  // two cards of 25G
  EXPECT_EQ(speed(R"({"line_rate_gbps": 12.3456, "settings": {"line_rate_gbps": "12.3456"}})"), 12346);
  EXPECT_EQ(speed(R"({"line_rate_gbps": 0.0, "settings": {"line_rate_gbps": "0"}})"), 100000);  // measured
  EXPECT_EQ(speed("{}"), 100000);
  EXPECT_EQ(speed("no JSON"), 100000);
}

TEST(NcclDescription, planes_that_are_out_are_named_with_the_reason) {
  Device device;
  read_description(R"({"planes": [{"plane": 1, "out": ""}, {"plane": 2, "out": "no cable"}, {"plane": 3}]})", &device);
  EXPECT_EQ(device.planes_out, std::vector<std::string>{"plane 2 is out: no cable"});
}

TEST(NcclDescription, half_a_round_trip_is_the_latency) {
  Device device;
  read_description(R"({"settings": {"base_rtt_us": "25", "max_qps": "77"}})", &device);
  EXPECT_EQ(device.latency_us, 12.5);
  EXPECT_EQ(device.max_qps, 77);
}

// A tree as sysfs has it.
TEST(NcclDescription, the_pci_function_is_found_by_the_name_of_the_device) {
  namespace fs = std::filesystem;
  char made[] = "/tmp/mrc-sysfs-XXXXXX";
  const fs::path root = mkdtemp(made);
  const fs::path card = root / "devices/pci0000:00/0000:00:03.0", virtio = card / "virtio1",
                 software = root / "devices/soft";
  for (const fs::path& device : {virtio, software}) fs::create_directories(device);
  const auto link = [&](const char* name, const fs::path& device) {
    fs::create_directories(root / "class" / name);
    fs::create_directory_symlink(device, root / "class" / name / "device");
  };
  link("mlx5_0", card);
  link("eth0", virtio);
  link("mrc0", software);
  const auto path = [&](const char* name) { return pci_path_of(root / "class", name); };
  EXPECT_EQ(path("mlx5_0"), card.string());
  EXPECT_EQ(path("eth0"), card.string());  // of its parent
  EXPECT_EQ(path("mrc0"), "");
  EXPECT_EQ(path("lo"), "");
  EXPECT_EQ(path(""), "");
  EXPECT_EQ(path("../class/mlx5_0"), "");
  fs::remove_all(root);
}

TEST(NcclSettings, defaults_lie_in_their_ranges) {
  const Settings defaults;
  for (const Setting& s : setting_table()) {
    EXPECT_NE(*s.sentence, '\0') << s.name;
    if (s.number == nullptr) continue;
    EXPECT_GE(defaults.*s.number, s.min) << s.name;
    EXPECT_LE(defaults.*s.number, s.max) << s.name;
  }
}

TEST(NcclSettings, both_ends_of_a_range_and_what_lies_beyond) {
  for (const Setting& s : setting_table()) {
    if (s.number == nullptr) continue;
    auto with = [&](int64_t value, size_t complaints) {
      setenv(s.name, std::to_string(value).c_str(), 1);
      std::vector<std::string> said;
      const Settings settings = settings_from_environment(&said);
      unsetenv(s.name);
      EXPECT_EQ(said.size(), complaints) << s.name << " = " << value;
      return settings.*s.number;
    };
    EXPECT_EQ(with(s.min, 0), s.min);
    EXPECT_EQ(with(s.max, 0), s.max);
    const Settings defaults;
    EXPECT_EQ(with(s.min - 1, 1), defaults.*s.number);
    EXPECT_EQ(with(s.max + 1, 1), defaults.*s.number);
  }
}

TEST(NcclSettings, a_word_that_is_not_allowed_is_complained_about) {
  const auto with = [](const char* text, size_t complaints) {
    std::vector<std::string> said;
    setenv("NCCL_SOCKET_FAMILY", text, 1);
    const Settings settings = settings_from_environment(&said);
    unsetenv("NCCL_SOCKET_FAMILY");
    EXPECT_EQ(said.size(), complaints) << text;
    return settings.socket_family;
  };
  EXPECT_EQ(with("AF_INET", 0), "AF_INET");
  EXPECT_EQ(with("AF_INET6", 0), "AF_INET6");
  EXPECT_EQ(with("", 0), "");
  for (const char* wrong : {"AF_INET5", "inet", "AF_INET AF_INET6", " "}) EXPECT_EQ(with(wrong, 1), "") << wrong;
}

TEST(NcclSettings, a_wrong_word_is_named_with_the_words_that_there_are) {
  std::vector<std::string> said;
  setenv("NCCL_MRC_GPU", "gdr", 1);
  EXPECT_EQ(settings_from_environment(&said).gpu, "auto");
  unsetenv("NCCL_MRC_GPU");
  EXPECT_EQ(said, std::vector<std::string>{"NCCL_MRC_GPU=gdr is not in auto, gdrcopy, dmabuf, off; auto is used"});
}

TEST(NcclSettings, variables_that_nothing_reads_are_named) {
  EXPECT_TRUE(unread_variables(nullptr).empty());
  std::vector<std::string> read = {"NCCL_MRC=1", "NCCL_DEBUG=INFO", "MY_NCCL_MRC_GPU=1", "PATH"};
  for (const Setting& s : setting_table()) {
    read.push_back(s.name + std::string("=1"));
    read.push_back(s.second + std::string("=1"));
  }
  read.insert(read.end(), {"NCCL_MRC_TIMOUT=1", "NCCL_MRC_"});
  std::vector<const char*> variables;
  for (const std::string& variable : read) variables.push_back(variable.c_str());
  variables.push_back(nullptr);
  const std::vector<std::string> sentences = unread_variables(variables.data());
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].rfind("Nothing reads NCCL_MRC_TIMOUT: ", 0), 0u) << sentences[0];
  EXPECT_EQ(sentences[1].rfind("Nothing reads NCCL_MRC_: ", 0), 0u) << sentences[1];
}

TEST(NcclSettings, the_first_name_goes_before_the_second) {
  for (const Setting& s : setting_table()) {
    if (*s.second == '\0') continue;
    std::vector<std::string> said;
    setenv(s.second, std::to_string(s.min).c_str(), 1);
    EXPECT_EQ(settings_from_environment(&said).*s.number, s.min) << s.second;
    setenv(s.name, std::to_string(s.max).c_str(), 1);
    EXPECT_EQ(settings_from_environment(&said).*s.number, s.max) << s.name;
    unsetenv(s.second);
    unsetenv(s.name);
    EXPECT_TRUE(said.empty());
  }
}

// A name of this plugin takes precedence over one that other plugins use, too.
TEST(NcclSettings, the_plugins_own_name_is_the_first) {
  for (const Setting& s : setting_table()) {
    if (*s.second == '\0' || std::string(s.second).rfind("NCCL_MRC_", 0) == 0) continue;
    EXPECT_EQ(std::string(s.name).rfind("NCCL_MRC_", 0), 0U) << s.name << " before " << s.second;
  }
}

TEST(NcclSettings, numbers_are_written_as_nccl_reads_them) {
  const auto with = [](const char* text, size_t complaints) {
    std::vector<std::string> said;
    setenv("NCCL_IB_TC", text, 1);
    const Settings settings = settings_from_environment(&said);
    unsetenv("NCCL_IB_TC");
    EXPECT_EQ(said.size(), complaints) << text;
    return settings.traffic_class;
  };
  EXPECT_EQ(with("96", 0), 96);
  EXPECT_EQ(with("0x60", 0), 0x60);
  EXPECT_EQ(with("0XfF", 0), 0xFF);
  EXPECT_EQ(with("010", 0), 8);
  EXPECT_EQ(with("0", 0), 0);
  EXPECT_EQ(with("", 0), 0);
  for (const char* wrong : {"two", "0x", "0x100", "09", "8 ", "60h", " ", "99999999999999999999"})
    EXPECT_EQ(with(wrong, 1), 0) << wrong;
}

TEST(GpuMapping, a_dma_buf_is_reached_from_any_offset) {
  constexpr size_t kOffset = 5000, kSize = 3000;
  const int fd = memfd_create("dma-buf", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 16384), 0);
  ASSERT_EQ(pwrite(fd, "device", 6, kOffset + 10), 6);
  char* const data = reinterpret_cast<char*>(uintptr_t{0x7f0000001000} + kOffset);  // nothing is there
  const auto made = GpuMapping::of_dma_buf(data, kSize, kOffset, fd);
  ASSERT_TRUE(made) << made.error().text;
  const std::unique_ptr<GpuMapping>& mapping = *made;
  char text[6];
  mapping->read(text, data + 10, sizeof text);
  EXPECT_EQ(std::memcmp(text, "device", sizeof text), 0);
  std::copy_n("end", 3, static_cast<char*>(mapping->at(data + kSize - 3)));
  mapping->flush(data + kSize - 1);
  ASSERT_EQ(pread(fd, text, 3, kOffset + kSize - 3), 3);
  EXPECT_EQ(std::memcmp(text, "end", 3), 0);
  close(fd);
  const auto without = GpuMapping::of_dma_buf(data, kSize, kOffset, -1);
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().text.find("Bad file descriptor"), std::string::npos) << without.error().text;
}

TEST(NcclSettings, markdown__page_is_current) {
  const std::string path = MRC_SOURCE_DIR "/nccl-plugin/SETTINGS.md";
  if (std::getenv("MRC_WRITE_SPEC") != nullptr) std::ofstream(path) << settings_markdown();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), settings_markdown()) << "MRC_WRITE_SPEC=1 writes it anew";
}

}  // namespace

}  // namespace mrc::nccl
