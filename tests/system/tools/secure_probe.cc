// Opens libmrc, the shim or the plugin with dlopen and prints the result: "secure=0 device", with secure=1 in a
// process that has privileges which its user has not. usage: secure_probe device|verbs|plugin LIBRARY
#include <dlfcn.h>
#include <mrc_soft.h>
#include <net_abi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

namespace {

void log_line(ncclDebugLogLevel, unsigned long, const char*, int, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

bool opens(const char* kind, void* library) {
  if (strcmp(kind, "device") == 0) {
    const auto open =
        reinterpret_cast<decltype(&mrc_soft_open_device_by_name)>(dlsym(library, "mrc_soft_open_device_by_name"));
    return open != nullptr && open(nullptr) != nullptr;
  }
  if (strcmp(kind, "verbs") == 0) {
    const auto list = reinterpret_cast<ibv_device** (*)(int*)>(dlsym(library, "ibv_get_device_list"));
    int count = 0;
    return list != nullptr && list(&count) != nullptr && count > 0;
  }
  const auto* const net = static_cast<const ncclNet_v10_t*>(dlsym(library, "ncclNetPlugin_v10"));
  return net != nullptr && net->init(log_line, nullptr) == ncclSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* const library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fprintf(stderr, "%s\n", dlerror());
  const bool good = library != nullptr && opens(argv[1], library);
  printf("secure=%d %s\n", getauxval(AT_SECURE) != 0, good ? "device" : "none");
  return 0;
}
