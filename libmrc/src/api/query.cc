// The device's capabilities, for mrc_query_device. Requires no MRC context (spec/clients.md rule 7).
#include <cstring>

#include "api/context.h"
#include "api/errors.h"
#include "api/limits.h"

using mrc::api::minus_one;
using mrc::api::SoftContext;

extern "C" {

int mrc_query_device_ex(ibv_context* context, mrc_context* mcontext, mrc_device_attr* attr, int* supported) {
  if (context == nullptr || (attr == nullptr && supported == nullptr)) return minus_one(EINVAL);
  SoftContext* soft = SoftContext::of(context);
  if (mcontext != nullptr && (soft == nullptr || &mcontext->soft() != soft)) return minus_one(EINVAL);
  if (attr != nullptr) std::memset(attr, 0, sizeof *attr);
  if (supported != nullptr) *supported = soft != nullptr;
  if (soft == nullptr || attr == nullptr) return 0;
  const mrc::api::ModifyLimits& limits = soft->limits();
  attr->mrc_protocol_version = 1u << (MRC_PROTOCOL_VERSION_1 - 1);
  attr->wimm_attr.max_wimm = limits.max_wimm;
  attr->wimm_attr.max_wimm_dest = limits.max_wimm_dest;
  attr->mpr_attr.max_mpr = limits.max_mpr;
  attr->mpr_attr.mpr_resolution = limits.mpr_resolution;
  attr->qp_attr.max_qp_hint = mrc::api::kMaxQpHints;
  attr->cap = MRC_DEVICE_CAP_TRIM_NACK | MRC_DEVICE_CAP_DYNAMIC_MPR | MRC_DEVICE_CAP_SVC_TIME;
  return 0;
}

int mrc_query_device(ibv_context* context, mrc_device_attr* attr, int* supported) {
  return mrc_query_device_ex(context, nullptr, attr, supported);
}

}  // extern "C"
