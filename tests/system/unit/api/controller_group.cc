// The user that runs the tests may use the controller functions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace mrc::api {
namespace {

class ControllerGroup final : public ::testing::Environment {
  void SetUp() override { ::setenv("MRC_CTL_GROUP", std::to_string(::getegid()).c_str(), 1); }
};

const ::testing::Environment* const controller_group = ::testing::AddGlobalTestEnvironment(new ControllerGroup);

}  // namespace
}  // namespace mrc::api
