#include "objects/unknown_ops.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "settings/log.h"

namespace mrc::shim {

namespace {

// More entries than the private part of any release has words: 125 in rdma-core 44.
constexpr size_t kEntries = 1024;

// The function of libibverbs that has called. Some end by a jump to ours, and the return address is the program's.
const char* caller(void* return_address) {
  Dl_info info;
  const bool known = dladdr(return_address, &info) != 0 && info.dli_sname != nullptr;
  return known && std::strncmp(info.dli_sname, "ibv_", 4) == 0 ? info.dli_sname : "ibv_*";
}

// The types of the functions that it stands for are not known. Most return a pointer, and the caller then sees a failed
// call; one that returns an error number seems to succeed, so the call is reported.
void* refuse_unknown() {
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true))
    log_error(caller(__builtin_return_address(0)),
              "libibverbs was called with an object of libmrc-verbs.so: not supported. Either libmrc-verbs.so does not "
              "have this function, or the program has functions of both libraries: then preload libmrc-verbs.so, or "
              "name it in place of libibverbs (MSCCL++: unset VMRC_LIBIBVERBS_SO)");
  errno = EOPNOTSUPP;
  return nullptr;
}

std::array<void* (*)(), kEntries> make_table() {
  std::array<void* (*)(), kEntries> table;
  table.fill(&refuse_unknown);
  return table;
}

}  // namespace

verbs_ex_private* unknown_ops() {
  static std::array<void* (*)(), kEntries> table = make_table();
  return reinterpret_cast<verbs_ex_private*>(table.data());
}

}  // namespace mrc::shim
