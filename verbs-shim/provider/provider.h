// The MRC library used by the shim, as a table: the 27 functions of mrc.h, the 14 of mrc_ctl.h, and those of
// mrc_soft.h that make devices, protection domains and memory regions where there is no RDMA hardware.
//
// The library is libmrc.so.1, or the one named by MRC_PROVIDER. It is loaded when a program first uses
// devices or an MRC function and stays loaded, so a program that never does is not affected. [VRB-PRV-1]
// A libmrc.so.1 that the program has loaded already is used, then the one beside this file, then the dynamic linker's:
// a process has one libmrc, so that contexts of the shim are known wherever the program takes MRC functions from.
// [VRB-PRV-2]
#pragma once

#include <mrc_soft.h>

#include "functions.h"

namespace mrc::shim {

// clang-format off
#define MRC_SHIM_SOFT(F)                                                                                                \
  F(mrc_soft_get_device_list) F(mrc_soft_free_device_list) F(mrc_soft_open_device) F(mrc_soft_close_device)             \
  F(mrc_soft_query_device) F(mrc_soft_query_port) F(mrc_soft_query_gid) F(mrc_soft_alloc_pd) F(mrc_soft_dealloc_pd)     \
  F(mrc_soft_reg_mr_iova) F(mrc_soft_dereg_mr) F(mrc_soft_set_mailbox) F(mrc_soft_mailbox_answered)                     \
  F(mrc_soft_resize_cq)                                                                                                \
  F(mrc_soft_add_context_handle) F(mrc_soft_remove_context_handle) F(mrc_soft_add_pd_handle)                            \
  F(mrc_soft_remove_pd_handle) F(mrc_soft_create_ah) F(mrc_soft_destroy_ah) F(mrc_soft_create_ud_qp)                    \
  F(mrc_soft_destroy_ud_qp) F(mrc_soft_ud_qpn) F(mrc_soft_modify_ud_qp) F(mrc_soft_post_ud_send)                        \
  F(mrc_soft_post_ud_recv) F(mrc_soft_create_ud_srq) F(mrc_soft_destroy_ud_srq) F(mrc_soft_post_ud_srq_recv) \
  F(mrc_soft_attach_mcast) F(mrc_soft_detach_mcast) F(mrc_soft_guarded_access) \
  F(mrc_soft_wait)
// For sysfs: without them a device has no interfaces and no counters.
#define MRC_SHIM_SOFT_OPTIONAL(F) F(mrc_soft_describe_device) F(mrc_soft_query_stats)
// clang-format on

struct Provider {
#define MRC_SHIM_MEMBER(name) decltype(&::name) name = nullptr;
  MRC_PROVIDER_REQUIRED(MRC_SHIM_MEMBER)
  MRC_PROVIDER_OPTIONAL(MRC_SHIM_MEMBER)
  MRC_SHIM_SOFT(MRC_SHIM_MEMBER)
  MRC_SHIM_SOFT_OPTIONAL(MRC_SHIM_MEMBER)
#undef MRC_SHIM_MEMBER
};

// The table, filled at the first call. Null when the library cannot be loaded, lacks a function or has no software
// devices: the reason was logged, once. Any thread.
const Provider* provider();

// The same library for its MRC functions only: it may be one without software devices, and of the optional functions
// some may be null. `handle` is dlopen's. Null: it cannot be loaded.
struct MrcLibrary {
  Provider table;
  void* handle = nullptr;
};
const MrcLibrary* mrc_library();

}  // namespace mrc::shim
