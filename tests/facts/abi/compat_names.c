/* Opens a library by the name that an existing program would use, and checks that it is our libmrc.so.1 behind it, not
 * a second copy, with the one symbol more that such programs look for. Arguments: compatibility library, libmrc.so.1.
 * [API-LIB-2]
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <mrc_api_ver.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef void (*version_function)(uint32_t*, uint32_t*, uint32_t*, uint32_t*);
typedef bool (*supported_function)(struct ibv_device*);

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* compat = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (compat == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  version_function version = (version_function)dlsym(compat, "mrc_query_version");
  supported_function supported = (supported_function)dlsym(compat, "mlx5dv_is_supported");
  if (version == NULL || supported == NULL) {
    printf("a symbol is missing\n");
    return 1;
  }
  uint32_t current = 0;
  version(&current, NULL, NULL, NULL);
  struct ibv_device device;
  if (current != MRC_API_CURRENT_VERSION || supported(&device)) {
    printf("version %x\n", current);
    return 1;
  }
  void* real = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (real == NULL || dlsym(real, "mrc_create_qp") != dlsym(compat, "mrc_create_qp")) {
    printf("the names do not lead to one library\n");
    return 1;
  }
  return 0;
}
