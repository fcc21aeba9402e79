#include "provider/provider.h"

#include <dlfcn.h>

#include <string>

#include "settings/log.h"
#include "settings/settings.h"

namespace mrc::shim {

namespace {

constexpr const char* kOwnLibrary = "libmrc.so.1";

const Provider* load() {
  static Provider table;
  const std::string& chosen = settings().provider;
  const std::string path = chosen.empty() ? kOwnLibrary : chosen;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    log_error("MRC_PROVIDER", "cannot load %s: %s", path.c_str(), dlerror());
    return nullptr;
  }
  const char* missing = nullptr;
#define MRC_SHIM_LOAD(name)                                                \
  table.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (table.name == nullptr) missing = #name;
  MRC_PROVIDER_OPTIONAL(MRC_SHIM_LOAD)
  MRC_SHIM_SOFT_OPTIONAL(MRC_SHIM_LOAD)
  missing = nullptr;
  MRC_PROVIDER_REQUIRED(MRC_SHIM_LOAD)
  if (missing != nullptr) {
    log_error("MRC_PROVIDER", "%s is no MRC library: it has no %s", path.c_str(), missing);
    return nullptr;
  }
  MRC_SHIM_SOFT(MRC_SHIM_LOAD)
#undef MRC_SHIM_LOAD
  if (missing != nullptr) {
    log_error("MRC_PROVIDER", "%s has no software devices (%s): its devices are left to libibverbs", path.c_str(),
              missing);
    return nullptr;
  }
  log_info("MRC over %s", path.c_str());
  return &table;
}

}  // namespace

const Provider* provider() {
  static const Provider* const table = load();
  return table;
}

}  // namespace mrc::shim
