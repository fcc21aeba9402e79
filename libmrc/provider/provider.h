// Provider: the MRC implementation for the plugin and the shim. Without configuration it is this project's library; the
// environment variable MRC_PROVIDER names another one (a path, or a name for the dynamic linker) that exports the same
// 41 functions, as the libraries of MRC NICs do [spec/architecture.md, decision 4].
//
// A table, because both may be loaded in one process under the same names. Functions that a library of API 1.0.0 lacks,
// and the controller's, may be null; the others are checked when the table is made.
//
// Devices, protection domains and memory regions are verbs objects. Ours come from mrc_soft.h; another provider's come
// from libibverbs, which is searched first in the process (the shim or the program may have brought it) and then
// opened by name. The functions have the same signatures in both.
//
// Threads: a table is constant once it is made.
#pragma once

#include <mrc_soft.h>

#include <string>

#include "functions.h"
#include "result.h"

namespace mrc::provider {

// clang-format off
#define MRC_PROVIDER_VERBS(X)                                                                                      \
  X(get_device_list) X(free_device_list) X(get_device_name) X(open_device) X(close_device) X(query_port)           \
  X(query_gid) X(alloc_pd) X(dealloc_pd) X(reg_mr) X(dereg_mr)
// clang-format on

struct Provider {
#define MRC_PROVIDER_MEMBER(name) decltype(&::name) name = nullptr;
  MRC_PROVIDER_REQUIRED(MRC_PROVIDER_MEMBER)
  MRC_PROVIDER_OPTIONAL(MRC_PROVIDER_MEMBER)
#undef MRC_PROVIDER_MEMBER

  struct Verbs {
#define MRC_PROVIDER_MEMBER(name) decltype(&::mrc_soft_##name) name = nullptr;
    MRC_PROVIDER_VERBS(MRC_PROVIDER_MEMBER)
#undef MRC_PROVIDER_MEMBER
  } verbs;
  // Only with software devices, else null.
  decltype(&::mrc_soft_describe_device) describe_device = nullptr;
  decltype(&::mrc_soft_config_error) config_error = nullptr;
  decltype(&::mrc_soft_query_qp_stats) query_qp_stats = nullptr;

  std::string name;  // for messages
};

// The table of a given library; "" is ours.
Result<Provider> load_provider(const std::string& library);

}  // namespace mrc::provider
