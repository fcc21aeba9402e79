#include "progress/settle.h"

#include <poll.h>

#include "objects/context.h"

namespace mrc::shim {

void settle(Context* context, const std::function<bool()>& settled, uint64_t max_ns) {
  if (context->inherited()) return;
  constexpr int kSpins = 200;  // then it sleeps between checks
  const uint64_t until = Context::now() + max_ns;
  for (int i = 0; !settled() && Context::now() < until; ++i) {
    context->poll();
    if (i > kSpins) ::poll(nullptr, 0, 1);
  }
}

void settle_one_of_many(Context* context, const std::function<bool()>& settled, uint64_t max_ns) {
  SettleLimit& limit = context->settle_limit;
  const uint64_t start = Context::now();
  const bool overdue = limit.overdue(start);
  settle(context, settled, limit.max_wait(start, max_ns));
  if (!overdue && !settled() && !context->inherited()) limit.ran_out(Context::now());
}

}  // namespace mrc::shim
