// The public headers as the library itself sees them: everything else is compiled with hidden visibility, so what they
// declare is made visible here. libmrc.map then says which of it is exported.
#pragma once

#pragma GCC visibility push(default)
#include "mrc.h"
#include "mrc_ctl.h"
#include "mrc_soft.h"
#pragma GCC visibility pop
