// The public headers as included by the library itself: all other code is compiled with hidden visibility, so their
// declarations are made visible here. libmrc.map then selects the exported ones.
#pragma once

#pragma GCC visibility push(default)
#include "mrc.h"
#include "mrc_ctl.h"
#include "mrc_soft.h"
#pragma GCC visibility pop
