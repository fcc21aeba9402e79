/* A libibverbs that has every function of names.txt with its version, and no devices. One that takes an object ends the
 * process: there is no object that could be its own. NAMES_HEADER, made from names.txt, has OBJECT(name) or PLAIN(name)
 * for each. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OBJECT(name)                                                               \
  long name(void);                                                                 \
  long name(void) {                                                                \
    fprintf(stderr, "libibverbs was reached with an object of ours: " #name "\n"); \
    fflush(stderr);                                                                \
    abort();                                                                       \
  }
#define PLAIN(name) \
  long name(void);  \
  long name(void) { \
    return 0;       \
  }
#include NAMES_HEADER
