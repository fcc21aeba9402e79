// The types of the controller's profiles: the structures of mrc_ctl.h themselves, so that no translation is needed
// between the C functions, the daemon's messages and the rules here. Visible declarations, as in the library's own view
// of them.
#pragma once

#pragma GCC visibility push(default)
#include "mrc_ctl.h"
#pragma GCC visibility pop
