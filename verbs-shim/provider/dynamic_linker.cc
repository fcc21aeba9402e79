#include "provider/dynamic_linker.h"

#include <dlfcn.h>
#include <link.h>

namespace mrc::shim {

DlOpen real_dlopen_function() {
  static const auto real = reinterpret_cast<DlOpen>(dlsym(RTLD_NEXT, "dlopen"));
  return real;
}

void* open_again(void* handle, int mode) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
  return real_dlopen(map->l_name, mode);
}

const char* name_of_this_library() {
  static const char* const name = []() -> const char* {
    Dl_info info;
    void* map = nullptr;
    if (dladdr1(reinterpret_cast<void*>(&name_of_this_library), &info, &map, RTLD_DL_LINKMAP) == 0) return "";
    return static_cast<const link_map*>(map)->l_name;
  }();
  return name;
}

std::string folder_of_this_library() {
  const std::string name = name_of_this_library();
  return name.substr(0, name.rfind('/') + 1);
}

}  // namespace mrc::shim
