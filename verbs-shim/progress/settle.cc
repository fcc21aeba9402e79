#include "progress/settle.h"

#include <poll.h>

#include "objects/context.h"

namespace mrc::shim {

void settle(Context* context, const std::function<bool()>& settled) {
  constexpr uint64_t kLongestNs = 500'000'000;
  constexpr int kSpins = 200;  // then it sleeps between checks
  const uint64_t until = Context::now() + kLongestNs;
  for (int i = 0; !settled() && Context::now() < until; ++i) {
    context->poll();
    if (i > kSpins) ::poll(nullptr, 0, 1);
  }
}

}  // namespace mrc::shim
