#include "progress/settle.h"

#include <poll.h>

#include "objects/context.h"

namespace mrc::shim {

void settle(Context* context, const std::function<bool()>& settled, uint64_t longest_ns) {
  if (context->inherited()) return;
  constexpr int kSpins = 200;  // then it sleeps between checks
  const uint64_t until = Context::now() + longest_ns;
  for (int i = 0; !settled() && Context::now() < until; ++i) {
    context->poll();
    if (i > kSpins) ::poll(nullptr, 0, 1);
  }
}

void settle_one_of_many(Context* context, const std::function<bool()>& settled, uint64_t longest_ns) {
  constexpr uint64_t kOverdueForNs = 10'000'000'000, kOverdueSettleNs = 20'000'000;
  const bool overdue = Context::now() < context->overdue_until.load();
  settle(context, settled, overdue ? kOverdueSettleNs : longest_ns);
  if (!overdue && !settled() && !context->inherited()) context->overdue_until.store(Context::now() + kOverdueForNs);
}

}  // namespace mrc::shim
