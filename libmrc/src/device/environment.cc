#include "device/environment.h"

#include <algorithm>
#include <cstring>

#include "append_item.h"
#include "base/nearest.h"
#include "device/settings.h"

namespace mrc::device {

namespace {

constexpr char kPrefix[] = "MRC_";

// Variables beside the settings, which a user may have meant.
constexpr const char* kOfPrograms[] = {"MRC_CONFIG", "MRC_PROVIDER", "MRC_SHIM_DEVICES", "MRC_LAB", "MRC_LAB_DIR"};
// Those of the tests and scripts of this tree.
constexpr const char* kOfTests[] = {"MRC_FABRIC",          "MRC_GOLDEN_DIR", "MRC_MRCCTL",      "MRC_MRCD",
                                    "MRC_NCCL_BENCH",      "MRC_NCCL_PEER",  "MRC_NCCL_PLUGIN", "MRC_NCCL_RIG",
                                    "MRC_NET_DEFECT",      "MRC_PACKAGES",   "MRC_PERF",        "MRC_SHIM",
                                    "MRC_SWARM_SEEDS",     "MRC_SWITCH",     "MRC_SANITIZE",    "MRC_TIMELINE",
                                    "MRC_TCP_NET_ADDRESS", "MRC_WRITE_SPEC", "MRC_WRITE_GOLDEN"};

}  // namespace

std::vector<std::string> misspelt_variables(const char* const* environment) {
  constexpr size_t prefix = sizeof(kPrefix) - 1;
  std::vector<std::string> candidates;  // without the prefix, which would make all of them similar
  for (const Setting& setting : setting_table()) candidates.push_back(setting.environment.substr(prefix));
  for (const FormerSetting& former : former_settings())
    if (former.only_key) candidates.emplace_back(former.environment + prefix);
  for (const char* name : kOfPrograms) candidates.emplace_back(name + prefix);
  std::vector<std::string> sentences;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, kPrefix, prefix) != 0) continue;
    const std::string name(*environment, std::strcspn(*environment, "="));
    const std::string word = name.substr(prefix);
    if (std::find(candidates.begin(), candidates.end(), word) != candidates.end() ||
        std::find(std::begin(kOfTests), std::end(kOfTests), name) != std::end(kOfTests))
      continue;
    if (const std::string meant = nearest(word, candidates); !meant.empty())
      sentences.push_back("environment: nothing reads " + name + ", did you mean " + kPrefix + meant + "?");
  }
  return sentences;
}

std::string ignored_variables(const char* const* environment) {
  constexpr size_t prefix = sizeof(kPrefix) - 1;
  std::string names;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, kPrefix, prefix) != 0) continue;
    append_item(&names, std::string_view(*environment, std::strcspn(*environment, "=")));
  }
  if (names.empty()) return names;
  return "environment: ignored, because this program has privileges that its user has not (set-uid, set-gid or file "
         "capabilities): " +
         names + "; /etc/mrc/mrc.yaml is read";
}

}  // namespace mrc::device
