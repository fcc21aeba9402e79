// The same program as C++.
#include "program.c"
