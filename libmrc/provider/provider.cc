#include "provider.h"

#include <dlfcn.h>

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

Result<Provider> load_provider(const std::string& library) {
  Provider made;
  if (library.empty()) {
    fill_with_ours(&made);
    return made;
  }
  // Never closed: its threads and handlers run until the process ends.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return invalid(std::string("MRC_PROVIDER cannot be loaded: ") + dlerror());
  std::string missing;
#define MRC_PROVIDER_ROW(name) \
  if (!look_up(handle, #name, &made.name)) missing += " " #name;
  MRC_PROVIDER_REQUIRED(MRC_PROVIDER_ROW)
#undef MRC_PROVIDER_ROW
#define MRC_PROVIDER_ROW(name) look_up(handle, #name, &made.name);
  MRC_PROVIDER_OPTIONAL(MRC_PROVIDER_ROW)
#undef MRC_PROVIDER_ROW
  if (!missing.empty()) return invalid("MRC_PROVIDER=" + library + " is no MRC library, it lacks" + missing);
  if (dlsym(handle, "mrc_soft_open_device") != nullptr) {
    missing = fill_verbs(handle, "mrc_soft_", &made.verbs);
    look_up(handle, "mrc_soft_describe_device", &made.describe_device);
    look_up(handle, "mrc_soft_query_qp_stats", &made.query_qp_stats);
    look_up(handle, "mrc_soft_config_error", &made.config_error);
  } else {
    const bool there = dlsym(RTLD_DEFAULT, "ibv_get_device_list") != nullptr;
    void* verbs = there ? RTLD_DEFAULT : dlopen("libibverbs.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!there && verbs == nullptr) return invalid("MRC_PROVIDER=" + library + " needs libibverbs: " + dlerror());
    missing = fill_verbs(verbs, "ibv_", &made.verbs);
  }
  if (!missing.empty()) return invalid("MRC_PROVIDER=" + library + " gives no devices, there is no" + missing);
  made.name = library;
  return made;
}

}  // namespace mrc::provider
