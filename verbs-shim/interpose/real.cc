#include "interpose/real.h"

#include <dlfcn.h>

#include "provider/dynamic_linker.h"

namespace mrc::shim {

namespace {

// Another name of this library is not the real one.
bool is_this_library(void* symbol) {
  Dl_info there, here;
  return dladdr(symbol, &there) != 0 && dladdr(reinterpret_cast<void*>(&real_symbol), &here) != 0 &&
         there.dli_fbase == here.dli_fbase;
}

void* libibverbs() {
  static void* const library = real_dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

}  // namespace

void* real_symbol(const char* name, const char* version) {
  void* found = dlvsym(RTLD_NEXT, name, version);
  if (found == nullptr || is_this_library(found))
    found = libibverbs() != nullptr ? dlvsym(libibverbs(), name, version) : nullptr;
  return found == nullptr || is_this_library(found) ? nullptr : found;
}

}  // namespace mrc::shim
