#include "provider/provider.h"

#include <dlfcn.h>

#include <string>

#include "provider/dynamic_linker.h"
#include "settings/log.h"
#include "settings/settings.h"

namespace mrc::shim {

namespace {

constexpr const char* kOwnLibrary = "libmrc.so.1";

struct Loaded {
  MrcLibrary library;
  bool usable = false;       // has the functions that every MRC library must have
  bool has_devices = false;  // has those of mrc_soft.h, too
  const char* lacks = nullptr;
  std::string path;
};

// Another vendor's library may have the same name; it has no software devices.
bool has_software_devices(void* library) {
  return dlsym(library, "mrc_soft_open_device") != nullptr;
}

void* open_own(std::string* path) {
  *path = kOwnLibrary;
  if (void* loaded = real_dlopen(kOwnLibrary, RTLD_NOW | RTLD_NOLOAD)) {
    if (has_software_devices(loaded)) return loaded;
    dlclose(loaded);
  }
  const std::string beside = folder_of_this_library() + kOwnLibrary;
  if (void* library = real_dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    *path = beside;
    return library;
  }
  return real_dlopen(kOwnLibrary, RTLD_NOW | RTLD_LOCAL);
}

void load(Loaded* out) {
  const std::string& chosen = settings().provider;
  out->path = chosen;
  void* const library = chosen.empty() ? open_own(&out->path) : real_dlopen(chosen.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    log_error("MRC_PROVIDER", "cannot load %s: %s", out->path.c_str(), dlerror());
    return;
  }
  out->library.handle = library;
  Provider& table = out->library.table;
  const char* missing = nullptr;
#define MRC_SHIM_LOAD(name)                                                \
  table.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (table.name == nullptr) missing = #name;
  MRC_PROVIDER_OPTIONAL(MRC_SHIM_LOAD)
  MRC_SHIM_SOFT_OPTIONAL(MRC_SHIM_LOAD)
  missing = nullptr;
  MRC_PROVIDER_REQUIRED(MRC_SHIM_LOAD)
  out->usable = missing == nullptr;
  if (!out->usable) {
    log_error("MRC_PROVIDER", "%s is no MRC library: it has no %s", out->path.c_str(), missing);
    return;
  }
  MRC_SHIM_SOFT(MRC_SHIM_LOAD)
#undef MRC_SHIM_LOAD
  out->lacks = missing;
  out->has_devices = missing == nullptr;
  log_info("MRC over %s", out->path.c_str());
}

const Loaded& loaded() {
  static const Loaded* const made = [] {
    auto* l = new Loaded;  // never destroyed: programs call verbs while they exit
    load(l);
    return l;
  }();
  return *made;
}

}  // namespace

const MrcLibrary* mrc_library() {
  return loaded().usable ? &loaded().library : nullptr;
}

const Provider* provider() {
  static const Provider* const table = []() -> const Provider* {
    const Loaded& l = loaded();
    if (l.has_devices) return &l.library.table;
    if (l.usable)
      log_error("MRC_PROVIDER", "%s has no software devices (%s): its devices are left to libibverbs", l.path.c_str(),
                l.lacks);
    return nullptr;
  }();
  return table;
}

}  // namespace mrc::shim
