// Who may use the controller functions: the kernel's word for it, CAP_NET_ADMIN, or membership of the group that the
// setting ctl_group names. Asked at every call, because both can be given up and got back. [MRC-CTL-6]
#pragma once

#include "api/public.h"

namespace mrc::api {

bool may_control(const mrc_context* context);

}  // namespace mrc::api
