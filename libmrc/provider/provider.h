// Provider: who implements MRC for the plugin and the shim. Without configuration it is this project's library; the
// environment variable MRC_PROVIDER names another one (a path, or a name for the dynamic linker) that exports the same
// 41 functions, as the libraries of MRC NICs do. Design decision 4.
//
// A table, because both may be in one process under the same names. Functions that a library of API 1.0.0 lacks, and
// the controller's, may be null; the others are checked when the table is made.
//
// Devices, protection domains and memory regions are verbs objects. Ours come from mrc_soft.h; another provider's come
// from libibverbs, which is looked for first in the process (the shim or the program may have brought it) and then
// opened by name. The functions have the same signatures in both.
//
// Threads: the table is made once, by whoever asks first; afterwards it is constant.
#pragma once

#include <mrc.h>
#include <mrc_ctl.h>
#include <mrc_soft.h>

#include <string>

namespace mrc::provider {

// clang-format off
#define MRC_PROVIDER_REQUIRED(X)                                                                                   \
  X(mrc_query_version) X(mrc_query_device) X(mrc_create_context) X(mrc_destroy_context)                            \
  X(mrc_create_comp_channel) X(mrc_get_comp_channel_fd) X(mrc_destroy_comp_channel) X(mrc_create_cq)               \
  X(mrc_poll_cq) X(mrc_req_notify_cq) X(mrc_get_cq_event) X(mrc_ack_cq_events) X(mrc_destroy_cq)                   \
  X(mrc_create_qp_hint) X(mrc_destroy_qp_hint) X(mrc_query_qp_hint) X(mrc_modify_qp_hint) X(mrc_create_qp)         \
  X(mrc_destroy_qp) X(mrc_query_qp) X(mrc_modify_qp) X(mrc_get_qpn) X(mrc_post_recv) X(mrc_post_send)              \
  X(mrc_get_async_event) X(mrc_ack_async_event)
#define MRC_PROVIDER_OPTIONAL(X)                                                                                   \
  X(mrc_query_device_ex) X(mrc_ctl_query_version) X(mrc_ctl_query_device) X(mrc_ctl_query_device_ex)               \
  X(mrc_ctl_modify_port) X(mrc_ctl_query_port) X(mrc_ctl_modify_ev_fmt_profile) X(mrc_ctl_query_ev_fmt_profile)    \
  X(mrc_ctl_modify_ev_profile) X(mrc_ctl_query_ev_profile) X(mrc_ctl_modify_cc_profile)                            \
  X(mrc_ctl_query_cc_profile) X(mrc_ctl_create_ev_event_cq) X(mrc_ctl_poll_ev_event) X(mrc_ctl_ep_batch_send_wait)
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

  std::string name;  // for messages
};

// The process's provider. Null: MRC_PROVIDER could not be used, and *why says why; it stays so.
const Provider* provider(std::string* why);

// A table of one's own, of a given library; "" is ours.
bool load_provider(const std::string& library, Provider* out, std::string* why);

}  // namespace mrc::provider
