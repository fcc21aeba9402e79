/* The 41 functions of the MRC API as a program has them: linked (MRC_LINKED), or looked up in a library that it opens
 * by name. For C and C++. */
#ifndef FUNCTIONS_OF_H
#define FUNCTIONS_OF_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "functions.h"

#define MRC_ALL(X) MRC_PROVIDER_REQUIRED(X) MRC_PROVIDER_OPTIONAL(X)

struct mrc_functions {
#define MEMBER(name) __typeof__(&name) p_##name;
  MRC_ALL(MEMBER)
#undef MEMBER
};
static struct mrc_functions api;

/* 0, or 1 and a line on stderr. library: "linked", or a name for dlopen. */
static inline int find_functions(const char* library) {
#ifdef MRC_LINKED
  if (strcmp(library, "linked") != 0) return fprintf(stderr, "this program is linked\n"), 1;
#define FILL(name) api.p_##name = &name;
  MRC_ALL(FILL)
#undef FILL
#else
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return fprintf(stderr, "no MRC library: %s\n", dlerror()), 1;
#define FILL(name)                                        \
  api.p_##name = (__typeof__(&name))dlsym(handle, #name); \
  if (api.p_##name == NULL) return fprintf(stderr, "%s has no %s\n", library, #name), 1;
  MRC_ALL(FILL)
#undef FILL
#endif
  return 0;
}

#endif
