#include "api/context.h"

#include <algorithm>
#include <memory>

#include "api/errors.h"
#include "api/inherited.h"
#include "device/log.h"

using mrc::api::minus_one;
using mrc::api::null_with;
using mrc::api::SoftContext;

// Callers that name no version: 0, a NULL structure, or the number of the protocol. Structures have for them the size
// that they had when such callers appeared: they would be overrun by the newest ones.
static constexpr uint32_t kUnnamedVersion = MRC_API_VER(1, 0, 1);

// [API-VER-3]
static uint32_t kept_version(const mrc_context_attr* attr) {
  const uint32_t used = attr != nullptr ? attr->mrc_api_version_used : 0;
  if (used < MRC_API_VER(1, 0, 0) || used == MRC_API_VER_LATEST) return kUnnamedVersion;
  return std::min<uint32_t>(used, MRC_API_CURRENT_VERSION);
}

mrc_context::mrc_context(SoftContext* soft, const ibv_context* made_from, uint32_t version)
    : soft_(soft), device_(soft->device()), made_from_(made_from), version_(version) {}

mrc_context::~mrc_context() {
  soft_->remove(this);
}

// One thread cannot sleep for several engines without setting the timers of all.
int mrc_context::wait(pollfd* fds, size_t count, const timespec* timeout, int armed) {
  return shards().size() == 1 ? device_.wait(fds, count, timeout, armed) : ::ppoll(fds, count, timeout, nullptr);
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
  if (mrc::api::inherited(*soft)) return null_with(EPERM);
  return mrc::api::or_enomem<mrc_context*>(nullptr, [&]() -> mrc_context* {
    auto made = std::make_unique<mrc_context>(soft, vcontext, kept_version(context_attr));
    if (const int error = made->async.open(vcontext->async_fd)) return null_with(error);
    soft->add(made.get());
    return made.release();
  });
}

int mrc_soft_wait(mrc_context* context, pollfd* fds, unsigned int count, const timespec* timeout, int armed) {
  if (context == nullptr) return minus_one(EINVAL);
  if (mrc::api::inherited(context)) return minus_one(EPERM);
  return context->wait(fds, count, timeout, armed);
}

// [API-CTX-1]
int mrc_destroy_context(mrc_context* mrc_ctx) {
  if (mrc_ctx == nullptr) return minus_one(EINVAL);
  if (mrc::api::inherited(mrc_ctx)) return 0;
  if (mrc_ctx->has_children()) return minus_one(EBUSY);
  delete mrc_ctx;
  return 0;
}

}  // extern "C"
