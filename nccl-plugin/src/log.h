// Messages go where NCCL's own go: through the logger that init handed over, with file and line. Before there is one,
// warnings go to stderr. Threads: any.
#pragma once

#include <net_abi.h>

namespace mrc::nccl {

// The logger is the process's: NCCL hands over the same function for every communicator.
void set_logger(ncclDebugLogger_t logger);
void log_message(ncclDebugLogLevel level, unsigned long flags, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 5, 6)));

}  // namespace mrc::nccl

// WARN is for what ends an operation, INFO for what only NCCL_DEBUG=INFO shows. NCCL prints a message only when its
// flags share a bit with NCCL_DEBUG_SUBSYS (default INIT, BOOTSTRAP, ENV), warnings included: hence NCCL_ALL, as NCCL's
// own warnings have it. Messages that pass INIT are few: devices and connections, nothing per request.
#define NET_WARN(...)                                                                                    \
  ::mrc::nccl::log_message(NCCL_LOG_WARN, static_cast<unsigned long>(NCCL_ALL), __FILE_NAME__, __LINE__, \
                           "NET/MRC: " __VA_ARGS__)
#define NET_INFO(...) \
  ::mrc::nccl::log_message(NCCL_LOG_INFO, NCCL_INIT | NCCL_NET, __FILE_NAME__, __LINE__, "NET/MRC: " __VA_ARGS__)
