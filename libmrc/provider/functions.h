// The functions of the OCP MRC API as lists, for tables of them: those that every MRC library must have, and
// those that a library of API 1.0.0 lacks, or that only a controller calls.
#pragma once

#include <mrc.h>
#include <mrc_ctl.h>

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
// clang-format on
