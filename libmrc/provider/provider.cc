#include "provider.h"

#include <dlfcn.h>

#include <cstdlib>

#include "secure_environment.h"

namespace mrc::provider {

namespace {

template <typename Function>
bool look_up(void* library, const std::string& name, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(library, name.c_str()));
  return *out != nullptr;
}

void fill_with_ours(Provider* p) {
#define MRC_PROVIDER_ROW(name) p->name = &::name;
  MRC_PROVIDER_REQUIRED(MRC_PROVIDER_ROW)
  MRC_PROVIDER_OPTIONAL(MRC_PROVIDER_ROW)
#undef MRC_PROVIDER_ROW
#define MRC_PROVIDER_ROW(name) p->verbs.name = &::mrc_soft_##name;
  MRC_PROVIDER_VERBS(MRC_PROVIDER_ROW)
#undef MRC_PROVIDER_ROW
  p->describe_device = &::mrc_soft_describe_device;
  p->query_qp_stats = &::mrc_soft_query_qp_stats;
  p->config_error = &::mrc_soft_config_error;
  p->name = "libmrc";
}

std::string fill_verbs(void* library, const std::string& prefix, Provider::Verbs* verbs) {
  std::string missing;
#define MRC_PROVIDER_ROW(name) \
  if (!look_up(library, prefix + #name, &verbs->name)) missing += " " + prefix + #name;
  MRC_PROVIDER_VERBS(MRC_PROVIDER_ROW)
#undef MRC_PROVIDER_ROW
  return missing;
}

}  // namespace

bool load_provider(const std::string& library, Provider* out, std::string* why) {
  if (library.empty()) {
    fill_with_ours(out);
    return true;
  }
  // Never closed: its threads and handlers run until the process ends.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    *why = std::string("MRC_PROVIDER cannot be loaded: ") + dlerror();
    return false;
  }
  std::string missing;
#define MRC_PROVIDER_ROW(name) \
  if (!look_up(handle, #name, &out->name)) missing += " " #name;
  MRC_PROVIDER_REQUIRED(MRC_PROVIDER_ROW)
#undef MRC_PROVIDER_ROW
#define MRC_PROVIDER_ROW(name) look_up(handle, #name, &out->name);
  MRC_PROVIDER_OPTIONAL(MRC_PROVIDER_ROW)
#undef MRC_PROVIDER_ROW
  if (!missing.empty()) {
    *why = "MRC_PROVIDER=" + library + " is no MRC library, it lacks" + missing;
    return false;
  }
  if (dlsym(handle, "mrc_soft_open_device") != nullptr) {
    missing = fill_verbs(handle, "mrc_soft_", &out->verbs);
    look_up(handle, "mrc_soft_describe_device", &out->describe_device);
    look_up(handle, "mrc_soft_query_qp_stats", &out->query_qp_stats);
    look_up(handle, "mrc_soft_config_error", &out->config_error);
  } else {
    const bool there = dlsym(RTLD_DEFAULT, "ibv_get_device_list") != nullptr;
    void* verbs = there ? RTLD_DEFAULT : dlopen("libibverbs.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!there && verbs == nullptr) {
      *why = "MRC_PROVIDER=" + library + " needs libibverbs: " + dlerror();
      return false;
    }
    missing = fill_verbs(verbs, "ibv_", &out->verbs);
  }
  if (!missing.empty()) {
    *why = "MRC_PROVIDER=" + library + " gives no devices, there is no" + missing;
    return false;
  }
  out->name = library;
  return true;
}

const Provider* provider(std::string* why) {
  struct Made {
    Provider table;
    std::string why;
    bool good;
    Made() {
      const char* library = environment::variable("MRC_PROVIDER");
      good = load_provider(library == nullptr ? "" : library, &table, &why);
    }
  };
  static const Made made;
  if (!made.good && why != nullptr) *why = made.why;
  return made.good ? &made.table : nullptr;
}

}  // namespace mrc::provider
