// Variables that look like misspelt settings, and those that must not.
#include "device/environment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace mrc::device {
namespace {

std::vector<std::string> said_of(const std::string& variable) {
  const char* const environment[] = {"PATH=/bin", variable.c_str(), "MRC_EV_COUNT=8", nullptr};
  return misspelt_variables(environment);
}

// Words in quotes that are names of variables: what tests and programs set and read.
void collect(const std::filesystem::path& file, std::set<std::string>* names) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (size_t at = 0; (at = text.find("\"MRC_", at)) != std::string::npos;) {
    const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", ++at);
    if (end != std::string::npos && text[end] == '"') names->insert(text.substr(at, end - at));
  }
}

TEST(Environment, misspelt__is_named_with_what_was_meant) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(said_of("MRC_EVCOUNT=5"), Lines{"environment: nothing reads MRC_EVCOUNT, did you mean MRC_EV_COUNT?"});
  EXPECT_EQ(said_of("MRC_CONFG=a=b"), Lines{"environment: nothing reads MRC_CONFG, did you mean MRC_CONFIG?"});
  EXPECT_EQ(said_of("MRC_FAULTS="), Lines{"environment: nothing reads MRC_FAULTS, did you mean MRC_FAULT?"});
}

TEST(Environment, misspelt__not_what_is_read_or_is_far_from_it) {
  for (const char* fine : {"MRC_LOG=warn", "MRC_CONFIG=x", "MRC_", "MRC_=1", "MRC_SOMETHING_ELSE_ALTOGETHER=1",
                           "OTHER_EVCOUNT=5", "NCCL_MRC_HCA=mrc0"})
    EXPECT_TRUE(said_of(fine).empty()) << fine;
  EXPECT_TRUE(misspelt_variables(nullptr).empty());
}

TEST(Environment, misspelt__not_what_tests_and_tools_use) {
  std::set<std::string> names;
  for (const char* folder : {"tests", "tools", "sim", "nccl-plugin", "verbs-shim"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(MRC_SOURCE_DIR "/" + std::string(folder)))
      if (entry.path().extension() == ".py" || entry.path().extension() == ".cc") collect(entry.path(), &names);
  ASSERT_GT(names.count("MRC_SWARM_SEEDS"), 0u);
  // Two words that are no variables, and the one that a test misspells.
  for (const char* other : {"MRC_SOFT", "MRC_TRIMMED", "MRC_EVCOUNT"}) names.erase(other);
  for (const std::string& name : names) EXPECT_TRUE(said_of(name + "=1").empty()) << said_of(name + "=1").front();
}

}  // namespace
}  // namespace mrc::device
