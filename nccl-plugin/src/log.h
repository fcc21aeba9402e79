// Messages use NCCL's logger, which init received, with file and line. Before there is one,
// warnings go to stderr. Threads: any.
#pragma once

#include <net_abi.h>

namespace mrc::nccl {

// The logger belongs to the process: NCCL passes the same function for every communicator.
void set_logger(ncclDebugLogger_t logger);
void log_message(ncclDebugLogLevel level, unsigned long flags, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 5, 6)));

}  // namespace mrc::nccl

// WARN is for errors that end an operation, INFO for messages shown only with NCCL_DEBUG=INFO. NCCL prints a message
// only when its flags share a bit with NCCL_DEBUG_SUBSYS (default INIT, BOOTSTRAP, ENV), warnings included: hence
// NCCL_ALL, as NCCL's own warnings do. Messages that pass INIT are few: devices and connections, none per request.
#define NET_WARN(...)                                                                                    \
  ::mrc::nccl::log_message(NCCL_LOG_WARN, static_cast<unsigned long>(NCCL_ALL), __FILE_NAME__, __LINE__, \
                           "NET/MRC: " __VA_ARGS__)
#define NET_INFO(...) \
  ::mrc::nccl::log_message(NCCL_LOG_INFO, NCCL_INIT | NCCL_NET, __FILE_NAME__, __LINE__, "NET/MRC: " __VA_ARGS__)
