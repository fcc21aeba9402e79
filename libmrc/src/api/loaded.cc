// Programs for MRC NICs find their device by libibverbs, which has the software devices only under the shim. Without
// it they end before they have called anything here ("no IB devices"), so the reason is logged when the library is
// loaded. [API-DEV-6]
#include <dlfcn.h>

#include <cstring>

#include "device/log.h"
#include "secure_environment.h"

namespace mrc::api {

namespace {

// The file of the libibverbs that the program or one of its libraries is linked with; null where the shim is before it.
const char* plain_libibverbs() {
  void* const found = dlsym(RTLD_DEFAULT, "ibv_get_device_list");
  Dl_info info;
  if (found == nullptr || dladdr(found, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  return std::strstr(info.dli_fname, "libibverbs.so") != nullptr ? info.dli_fname : nullptr;
}

[[gnu::constructor]] void explain_missing_devices() {
  const char* const text = environment::variable("MRC_LOG");
  const auto level = text != nullptr ? device::value_of<device::LogLevel>(text) : std::nullopt;
  if (!level || *level < device::LogLevel::kWarn) return;
  const char* const libibverbs = plain_libibverbs();
  if (libibverbs == nullptr) return;
  device::set_log_level(*level);
  device::log_line(device::LogLevel::kWarn, std::string("this program has verbs from ") + libibverbs +
                                                ", whose list of devices has no software device of libmrc; "
                                                "LD_PRELOAD=libmrc-verbs.so adds them");
}

}  // namespace

}  // namespace mrc::api
