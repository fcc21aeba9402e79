// dlopen, for programs that open their libraries by name: libibverbs under any path is this file, so that they find our
// devices without a variable of their own; the names of MRC libraries lead to the process's MRC library. Every other
// name is passed to the dynamic linker after a comparison of its last part. [VRB-DLO-1]
//
// The dynamic linker searches along the RUNPATH of dlopen's caller, which it derives from the return address. So the
// call is forwarded by a jump: this file is compiled with sibling call optimisation in every build.
#include <dlfcn.h>

#include <cstring>

#include "interpose/export.h"
#include "objects/device.h"
#include "provider/dynamic_linker.h"
#include "provider/provider.h"
#include "settings/log.h"
#include "settings/settings.h"

namespace {

using mrc::shim::real_dlopen;

const char* last_part(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// NAME.so, NAME.so.1 and so on.
bool is_library(const char* file, const char* name) {
  const size_t n = std::strlen(name);
  return std::strncmp(file, name, n) == 0 && (file[n] == '\0' || file[n] == '.');
}

bool is_compat_name(const char* file) {
  return is_library(file, "libnv_mrc.so") || is_library(file, "lib_mrc.so");
}

// A second copy of our library would have neither the devices nor the contexts of the first.
void* only_copy(void* opened, const char* path) {
  const mrc::shim::Provider* const first = mrc::shim::provider();
  void* const open_device = dlsym(opened, "mrc_soft_open_device");
  if (first == nullptr || open_device == nullptr || open_device == reinterpret_cast<void*>(first->mrc_soft_open_device))
    return opened;
  mrc::shim::log_info("dlopen: %s is a second copy of libmrc, the first one is used", path);
  dlclose(opened);
  return nullptr;
}

void* open_mrc(const char* path, int mode) {
  void* const library = mrc::shim::mrc_library() != nullptr ? mrc::shim::mrc_library()->handle : nullptr;
  if (std::strchr(path, '/') != nullptr) {
    void* const opened = real_dlopen(path, mode);
    if (opened == nullptr || only_copy(opened, path) != nullptr) return opened;
  } else if (library == nullptr) {
    return real_dlopen(path, mode);
  } else if (is_compat_name(path)) {
    return real_dlopen(mrc::shim::name_of_this_library(), mode);
  }
  return mrc::shim::open_again(library, mode);
}

void* open_ours(const char* path, int mode) noexcept {
  if (is_library(last_part(path), "libibverbs.so")) return real_dlopen(mrc::shim::name_of_this_library(), mode);
  return open_mrc(path, mode);
}

bool is_answered(const char* path) {
  if (path == nullptr) return false;
  const char* const file = last_part(path);
  if (std::strncmp(file, "lib", 3) != 0) return false;
  if (!is_library(file, "libibverbs.so") && !is_library(file, "libmrc.so") && !is_compat_name(file)) return false;
  return mrc::shim::settings().devices != "none";
}

}  // namespace

extern "C" {

MRC_EXPORT void* dlopen(const char* path, int mode) noexcept {
  const mrc::shim::DlOpen call = is_answered(path) ? &open_ours : mrc::shim::real_dlopen_function();
  return call(path, mode);
}

}  // extern "C"
