// The status of completions, as verbs has it.
#pragma once

#include <infiniband/verbs.h>

#include "core/types.h"

namespace mrc::api {

inline ibv_wc_status to_verbs(core::WcStatus status) {
  using core::WcStatus;
  switch (status) {
    case WcStatus::kSuccess:
      return IBV_WC_SUCCESS;
    case WcStatus::kLocalProtection:
      return IBV_WC_LOC_PROT_ERR;
    case WcStatus::kFlushed:
      return IBV_WC_WR_FLUSH_ERR;
    case WcStatus::kRemoteInvalidRequest:
      return IBV_WC_REM_INV_REQ_ERR;
    case WcStatus::kRemoteAccess:
      return IBV_WC_REM_ACCESS_ERR;
    case WcStatus::kRemoteOperation:
      return IBV_WC_REM_OP_ERR;
    case WcStatus::kRetryExceeded:
    case WcStatus::kPathMtu:
      return IBV_WC_RETRY_EXC_ERR;
  }
  return IBV_WC_GENERAL_ERR;
}

}  // namespace mrc::api
