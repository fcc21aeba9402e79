#include "objects/unknown_ops.h"

#include <array>
#include <atomic>
#include <cerrno>

#include "settings/log.h"

namespace mrc::shim {

namespace {

// More entries than the private part of any release has words: 125 in rdma-core 44.
constexpr size_t kEntries = 1024;

// The types of the functions that it stands for are not known. Most return a pointer, and the caller then sees a failed
// call; one that returns an error number seems to succeed, so the call is reported.
void* refuse_unknown() {
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true))
    log_error("libibverbs", "a function that mrc-verbs does not know was called for one of its devices: not supported");
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
