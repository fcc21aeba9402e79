#include "api/context.h"

#include <memory>

#include "api/errors.h"
#include "device/log.h"

using mrc::api::minus_one;
using mrc::api::null_with;
using mrc::api::SoftContext;

mrc_context::mrc_context(SoftContext* soft, const ibv_context* made_from, uint32_t version)
    : soft_(soft), made_from_(made_from), version_(version) {}

mrc_context::~mrc_context() {
  soft_->remove(this);
}

extern "C" {

// [API-VER-2] [API-DEV-1]
mrc_context* mrc_create_context(ibv_context* vcontext, mrc_context_attr* context_attr) {
  if (vcontext == nullptr) return null_with(EINVAL);
  SoftContext* soft = SoftContext::of(vcontext);
  if (soft == nullptr) {
    mrc::device::log_line(mrc::device::LogLevel::kError,
                          "mrc_create_context: the ibv_context is not of a software device. Open those by "
                          "mrc_soft_open_device, or by ibv_open_device in a program started with "
                          "LD_PRELOAD=libmrc-verbs.so");
    return null_with(EOPNOTSUPP);
  }
  // Every version is accepted: programs pass 0, the protocol's number, or their own value of current [API-VER-3].
  uint32_t version = context_attr != nullptr ? context_attr->mrc_api_version_used : 0;
  if (version == 0 || version > MRC_API_CURRENT_VERSION) version = MRC_API_CURRENT_VERSION;
  return mrc::api::or_enomem<mrc_context*>(nullptr, [&]() -> mrc_context* {
    auto made = std::make_unique<mrc_context>(soft, vcontext, version);
    if (!made->async.open(vcontext->async_fd)) return nullptr;  // errno is set
    soft->add(made.get());
    return made.release();
  });
}

// [API-CTX-1]
int mrc_destroy_context(mrc_context* mrc_ctx) {
  if (mrc_ctx == nullptr) return minus_one(EINVAL);
  if (mrc_ctx->has_children()) return minus_one(EBUSY);
  delete mrc_ctx;
  return 0;
}

}  // extern "C"
