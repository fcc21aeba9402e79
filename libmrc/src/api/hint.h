// QP hint: the application's expectation of a group of QPs. The software device adapts to measured traffic, so the
// numbers are only stored and reported; they have an effect on an MRC NIC.
#pragma once

#include <atomic>

#include "api/public.h"
#include "mutex.h"

struct mrc_qp_hint {
  mrc_qp_hint(mrc_context* owner, const mrc_qp_hint_attr& given) : context(owner), attr(given) {}

  // Compared, never followed: some programs destroy their hints after the context (spec/clients.md rule 18).
  mrc_context* const context;
  std::atomic<int> users{0};  // QPs that use it
  mrc::Mutex mutex;
  mrc_qp_hint_attr attr ABSL_GUARDED_BY(mutex);
};
