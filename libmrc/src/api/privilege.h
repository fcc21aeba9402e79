// Privilege for the controller functions: CAP_NET_ADMIN as reported by the kernel, or membership of the group that the
// setting ctl_group names. Checked at every call, because both can be dropped and regained. [MRC-CTL-6]
#pragma once

#include "api/public.h"

namespace mrc::api {

bool may_control(const mrc_context* context);

}  // namespace mrc::api
