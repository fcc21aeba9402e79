#include "api/faults.h"

#include <cerrno>

#include "api/errors.h"
#include "device/log.h"
#include "fault_handlers.h"
#include "memory_guard.h"
#include "mrc_soft.h"

namespace mrc::api {

void catch_faults() {
  if (environment::install_fault_handlers()) return;
  try {
    device::log_once(
        device::LogLevel::kWarn,
        "the program has installed too many different handlers of SIGSEGV or SIGBUS: its last one is called "
        "when registered memory is gone");
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace mrc::api

extern "C" int mrc_soft_guarded_access(void (*access)(void*), void* argument, const iovec* memory, int count,
                                       void** fault) {
  if (access == nullptr || count < 0 || (count > 0 && memory == nullptr)) return mrc::api::errno_value(EINVAL);
  const std::optional<uint64_t> at = mrc::environment::guarded(memory, count, [access, argument] { access(argument); });
  if (!at) return 0;
  if (fault != nullptr) *fault = reinterpret_cast<void*>(*at);  // NOLINT(performance-no-int-to-ptr)
  return mrc::api::errno_value(EFAULT);
}
