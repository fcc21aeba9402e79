// The state file on disks that fail. [MRC-MRCD-7]
#include "state_file.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace mrc::mrcd {
namespace {

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

class StateFile : public testing::Test {
 protected:
  StateFile() {
    char name[] = "/tmp/mrcd-state-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/state.json";
  }
  ~StateFile() override { std::filesystem::remove_all(folder_); }
  std::string folder_, path_;
};

TEST_F(StateFile, a_saved_state_is_loaded) {
  const nlohmann::json state = {{"version", 1}, {"devices", {{"mrc0", {{"ports_down", {2}}}}}}};
  ASSERT_TRUE(save_state(path_, state));
  const Result<nlohmann::json> loaded = load_state(path_);
  ASSERT_TRUE(loaded) << loaded.error().text;
  EXPECT_EQ(*loaded, state);
}

TEST_F(StateFile, a_full_disk_leaves_the_old_file_and_no_descriptor) {
  ASSERT_TRUE(save_state(path_, {{"version", 1}}));
  std::filesystem::create_symlink("/dev/full", path_ + ".new");
  const size_t before = open_descriptors();
  for (int i = 0; i < 3; ++i) {
    const Status saved = save_state(path_, {{"version", 2}});
    ASSERT_FALSE(saved);
    EXPECT_NE(saved.error().text.find("No space left"), std::string::npos) << saved.error().text;
  }
  EXPECT_EQ(open_descriptors(), before);
  const Result<nlohmann::json> loaded = load_state(path_);
  ASSERT_TRUE(loaded) << loaded.error().text;
  EXPECT_EQ((*loaded)["version"], 1);
}

}  // namespace
}  // namespace mrc::mrcd
