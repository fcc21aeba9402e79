// Device list, opening, and queries of a device that is not open.
#include <fcntl.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "interpose/export.h"
#include "interpose/out_of_memory.h"
#include "interpose/real.h"
#include "objects/context.h"
#include "objects/device.h"

#undef ibv_get_device_list

using mrc::shim::Context;
using mrc::shim::is_our_device;

extern "C" {

// Real devices first, then ours. The list is a block of its own, as libibverbs' lists are, because programs may take
// ibv_free_device_list from libibverbs: it counts the users of each device down, which changes nothing in ours, and
// passes the list to free(). libibverbs' own list is stored behind the null at the end. [VRB-INT-5]
MRC_EXPORT ibv_device** ibv_get_device_list(int* num_devices) {
  int real_count = 0;
  ibv_device** real = nullptr;
  if (auto real_list = MRC_REAL(ibv_get_device_list, "IBVERBS_1.1")) real = real_list(&real_count);
  if (real == nullptr) real_count = 0;
  // Without memory for ours the list has the real devices alone, as libibverbs returns them.
  static const std::vector<ibv_device*> none;
  const auto& ours =
      *mrc::shim::or_enomem<const std::vector<ibv_device*>*>(&none, [] { return &mrc::shim::devices(); });
  const size_t total = static_cast<size_t>(real_count) + ours.size();
  ibv_device** all = nullptr;
  if (real == nullptr || !ours.empty()) all = static_cast<ibv_device**>(std::calloc(total + 2, sizeof(ibv_device*)));
  if (all == nullptr) {
    if (num_devices != nullptr) *num_devices = real_count;
    return real;
  }
  for (int i = 0; i < real_count; ++i) all[i] = real[i];
  std::copy(ours.begin(), ours.end(), all + real_count);
  all[total + 1] = reinterpret_cast<ibv_device*>(real);
  if (num_devices != nullptr) *num_devices = static_cast<int>(total);
  errno = 0;  // libibverbs' errno for an empty list does not apply to ours
  return all;
}

// A list without a device of ours may be libibverbs' own.
MRC_EXPORT void ibv_free_device_list(ibv_device** list) {
  if (list == nullptr) return;
  const auto real_free = MRC_REAL(ibv_free_device_list, "IBVERBS_1.1");
  bool ours = false;
  ibv_device** end = list;
  for (; *end != nullptr; ++end) ours = ours || is_our_device(*end);
  ibv_device** const real = ours ? reinterpret_cast<ibv_device**>(end[1]) : list;
  if (real != nullptr && real_free != nullptr) real_free(real);
  if (ours || real_free == nullptr) std::free(list);
}

MRC_EXPORT const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

MRC_EXPORT int ibv_get_device_index(ibv_device* device) {
  if (is_our_device(device)) return mrc::shim::device_index(device);
  auto real = MRC_REAL(ibv_get_device_index, "IBVERBS_1.9");
  return real != nullptr ? real(device) : -1;
}

MRC_EXPORT __be64 ibv_get_device_guid(ibv_device* device) {
  if (is_our_device(device)) return mrc::shim::device_guid(device);
  auto real = MRC_REAL(ibv_get_device_guid, "IBVERBS_1.1");
  return real != nullptr ? real(device) : 0;
}

MRC_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  if (is_our_device(device)) {
    Context* context = mrc::shim::or_enomem<Context*>(nullptr, [&] { return Context::open(device); });
    return context != nullptr ? context->verbs() : nullptr;
  }
  auto real = MRC_REAL(ibv_open_device, "IBVERBS_1.1");
  return real != nullptr ? real(device) : nullptr;
}

MRC_EXPORT int ibv_close_device(ibv_context* context) {
  if (Context::is_ours(context))
    return Context::of(context)->inherited() ? 0 : with_errno(Context::close(Context::of(context)));  // [VRB-FRK-1]
  auto real = MRC_REAL(ibv_close_device, "IBVERBS_1.1");
  return real != nullptr ? real(context) : -1;
}

// Import by descriptor or handle needs a kernel driver on the other side. The descriptors of our contexts, which
// programs duplicate and pass on, are open without access (Context), as no driver's is.
MRC_EXPORT ibv_context* ibv_import_device(int cmd_fd) {
  auto real = MRC_REAL(ibv_import_device, "IBVERBS_1.10");
  const int flags = fcntl(cmd_fd, F_GETFL);
  if (real != nullptr && flags >= 0 && (flags & O_PATH) == 0) return real(cmd_fd);
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // extern "C"
