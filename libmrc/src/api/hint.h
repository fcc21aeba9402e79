// QP hint: what the application expects of a group of QPs. The software device adapts to what it sees, so the numbers
// are kept and reported; they cost nothing and stay with the program that moves to an MRC NIC.
#pragma once

#include <atomic>

#include "api/public.h"
#include "mutex.h"

struct mrc_qp_hint {
  mrc_qp_hint(mrc_context* owner, const mrc_qp_hint_attr& given) : context(owner), attr(given) {}

  // Compared, never followed: some programs destroy their hints after the context (spec/clients.md rule 18).
  mrc_context* const context;
  std::atomic<int> users{0};  // QPs that were given it
  mrc::Mutex mutex;
  mrc_qp_hint_attr attr ABSL_GUARDED_BY(mutex);
};
