/* Opens a library that only this program's RUNPATH leads to. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  void* plugin = dlopen("libmrc_found_by_runpath.so", RTLD_NOW);
  printf("%s\n", plugin != NULL ? "found" : dlerror());
  return plugin == NULL;
}
