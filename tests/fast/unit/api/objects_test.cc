// Versions, devices, contexts, hints, QP queries: everything that moves no data. [API-VER-*, API-DEV-*,
// API-CTX-*]
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "api/context.h"
#include "harness/api_pair.h"
#include "harness/no_descriptors.h"

namespace mrc::api {
namespace {

class ObjectsTest : public ApiTest {};

// [API-VER-1]
TEST(VersionTest, versions_need_no_device_and_take_null) {
  uint32_t v[4] = {};
  mrc_query_version(&v[0], &v[1], &v[2], &v[3]);
  EXPECT_EQ(v[0], MRC_API_CURRENT_VERSION);
  EXPECT_EQ(v[1], 0u);
  EXPECT_EQ(v[2], MRC_VENDOR_API_CURRENT_VERSION);
  mrc_query_version(nullptr, nullptr, nullptr, nullptr);
  mrc_ctl_query_version(&v[0], nullptr, nullptr, nullptr);
  EXPECT_EQ(v[0], MRC_CTL_API_CURRENT_VERSION);
}

TEST(DeviceListTest, lists_named_devices_that_outlive_the_list) {
  int n = 0;
  ibv_device** list = mrc_soft_get_device_list(&n);
  ASSERT_NE(list, nullptr);
  ASSERT_GE(n, 1);
  EXPECT_EQ(list[n], nullptr);
  ibv_device* device = list[0];
  mrc_soft_free_device_list(list);
  EXPECT_EQ(device->node_type, IBV_NODE_CA);
  EXPECT_EQ(device->transport_type, IBV_TRANSPORT_IB);
  EXPECT_STREQ(mrc_soft_get_device_name(device), device->name);
  ibv_context* context = mrc_soft_open_device(device);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->device, device);
  EXPECT_EQ(mrc_soft_close_device(context), 0);
  EXPECT_EQ(mrc_soft_open_device_by_name("no such device"), nullptr);
  EXPECT_EQ(errno, ENODEV);
}

TEST(DeviceListTest, opening_nothing_is_an_invalid_argument) {
  EXPECT_EQ(mrc_soft_open_device(nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_device foreign{};
  EXPECT_EQ(mrc_soft_open_device(&foreign), nullptr);
  EXPECT_EQ(errno, ENODEV);
}

// A foreign context is recognised by its address, and never dereferenced. [API-DEV-1]
TEST(ForeignContextTest, is_recognised_and_not_followed) {
  auto* foreign = static_cast<ibv_context*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(foreign, MAP_FAILED);
  EXPECT_EQ(mrc_soft_is_soft_context(foreign), 0);
  EXPECT_EQ(mrc_create_context(foreign, nullptr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  mrc_device_attr attr;
  int supported = 7;
  EXPECT_EQ(mrc_query_device(foreign, &attr, &supported), 0);
  EXPECT_EQ(supported, 0);
  EXPECT_EQ(attr.mrc_protocol_version, 0u);
  EXPECT_EQ(mrc_soft_close_device(foreign), EINVAL);
  munmap(foreign, 4096);
}

// spec/clients.md rule 7: before any MRC context.
TEST(QueryDeviceTest, works_without_a_context) {
  ibv_context* verbs = mrc_soft_open_device_by_name(nullptr);
  ASSERT_NE(verbs, nullptr);
  mrc_device_attr attr;
  int supported = 0;
  ASSERT_EQ(mrc_query_device(verbs, &attr, &supported), 0);
  EXPECT_EQ(supported, 1);
  EXPECT_EQ(attr.mrc_protocol_version, 1u);
  EXPECT_GE(attr.wimm_attr.max_wimm, 64);
  EXPECT_GE(attr.wimm_attr.max_wimm_dest, 64);
  EXPECT_GE(attr.mpr_attr.max_mpr, 32);
  EXPECT_GE(attr.mpr_attr.mpr_resolution, 1);
  EXPECT_GE(attr.qp_attr.max_qp_hint, 1u);
  EXPECT_EQ(mrc_query_device_ex(verbs, nullptr, &attr, nullptr), 0);
  EXPECT_EQ(mrc_query_device(verbs, nullptr, nullptr), -1);
  EXPECT_EQ(mrc_query_device(nullptr, &attr, &supported), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_soft_close_device(verbs), 0);
}

// spec/clients.md, "Device attributes". [API-DEV-2]
TEST_F(ObjectsTest, attributes_of_device_and_port_are_those_that_clients_need) {
  ibv_device_attr device;
  ASSERT_EQ(mrc_soft_query_device(verbs, &device), 0);
  EXPECT_GT(device.max_qp, 1000);
  EXPECT_GE(device.max_qp_wr, 8192);
  EXPECT_GE(device.max_sge, 6);
  EXPECT_GE(device.max_cqe, 65536);
  EXPECT_NE(device.sys_image_guid, 0u);
  EXPECT_EQ(device.phys_port_cnt, 1);
  EXPECT_NE(device.vendor_id, 0x8086u);
  EXPECT_NE(device.vendor_id, 0x1425u);
  EXPECT_EQ(device.atomic_cap, IBV_ATOMIC_NONE);
  ibv_port_attr port;
  ASSERT_EQ(mrc_soft_query_port(verbs, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.phys_state, 5);
  EXPECT_EQ(port.max_mtu, IBV_MTU_4096);
  EXPECT_EQ(port.active_mtu, IBV_MTU_4096);
  EXPECT_EQ(port.lid, 0);
  EXPECT_EQ(port.active_width, 2);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_GE(port.gid_tbl_len, 4);
  EXPECT_EQ(mrc_soft_query_port(verbs, 0, &port), EINVAL);
  EXPECT_EQ(mrc_soft_query_port(verbs, 200, &port), EINVAL);
}

// [API-DEV-3] and spec/clients.md rule 15.
TEST_F(ObjectsTest, the_gid_table_has_two_ipv6_an_empty_and_an_ipv4_entry) {
  const uint8_t zero[16] = {};
  const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  union ibv_gid entry;
  for (int i : {0, 1}) {
    ASSERT_EQ(mrc_soft_query_gid(verbs, 1, i, &entry), 0);
    EXPECT_NE(std::memcmp(entry.raw, zero, 16), 0) << i;
    EXPECT_NE(std::memcmp(entry.raw, v4_prefix, 12), 0) << i;
  }
  ASSERT_EQ(mrc_soft_query_gid(verbs, 1, 2, &entry), 0);
  EXPECT_EQ(std::memcmp(entry.raw, zero, 16), 0);
  ASSERT_EQ(mrc_soft_query_gid(verbs, 1, 3, &entry), 0);
  EXPECT_EQ(std::memcmp(entry.raw, v4_prefix, 12), 0);
  ibv_port_attr port;
  ASSERT_EQ(mrc_soft_query_port(verbs, 1, &port), 0);
  EXPECT_EQ(mrc_soft_query_gid(verbs, 1, port.gid_tbl_len, &entry), EINVAL);
  EXPECT_EQ(mrc_soft_query_gid(verbs, 1, -1, &entry), EINVAL);
}

// [API-DEV-5]
TEST_F(ObjectsTest, ops_table_has_no_holes_where_inlines_call) {
  ibv_wc wc;
  ibv_cq cq{};
  cq.context = verbs;
  ibv_qp qp{};
  qp.context = verbs;
  ibv_send_wr send{};
  ibv_send_wr* bad_send = nullptr;
  ibv_recv_wr recv{};
  ibv_recv_wr* bad_recv = nullptr;
  EXPECT_EQ(ibv_poll_cq(&cq, 1, &wc), -1);
  EXPECT_EQ(ibv_req_notify_cq(&cq, 0), EOPNOTSUPP);
  EXPECT_EQ(ibv_post_send(&qp, &send, &bad_send), EOPNOTSUPP);
  EXPECT_EQ(bad_send, &send);
  EXPECT_EQ(ibv_post_recv(&qp, &recv, &bad_recv), EOPNOTSUPP);
  EXPECT_EQ(bad_recv, &recv);
  EXPECT_NE(verbs->ops.post_srq_recv, nullptr);
  EXPECT_NE(verbs->ops.alloc_mw, nullptr);
  EXPECT_NE(verbs->ops.bind_mw, nullptr);
  EXPECT_NE(verbs->ops.dealloc_mw, nullptr);
  verbs_context* extended = verbs_get_ctx(verbs);
  ASSERT_NE(extended, nullptr);
  EXPECT_EQ(extended->sz, sizeof(verbs_context));
  EXPECT_NE(extended->create_qp_ex, nullptr);
  EXPECT_NE(extended->create_cq_ex, nullptr);
  ibv_port_attr port;
  ASSERT_EQ(extended->query_port(verbs, 1, &port, sizeof port), 0);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  ibv_device_attr_ex device;
  ASSERT_EQ(extended->query_device_ex(verbs, nullptr, &device, sizeof device), 0);
  EXPECT_GT(device.orig_attr.max_qp, 1000);
  EXPECT_GE(verbs->async_fd, 0);
}

// spec/clients.md rule 6. [API-VER-3]
TEST_F(ObjectsTest, any_version_makes_a_context) {
  for (uint32_t version : {MRC_API_CURRENT_VERSION, 0x01000001u, 0x00000001u, 0u, 0x01000000u, 0xFFFFFFFFu}) {
    mrc_context_attr attr{version, 0};
    mrc_context* made = mrc_create_context(verbs, &attr);
    ASSERT_NE(made, nullptr) << version;
    EXPECT_EQ(mrc_destroy_context(made), 0);
  }
  EXPECT_EQ(mrc_create_context(nullptr, nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// [API-CTX-1]
TEST_F(ObjectsTest, parents_are_busy) {
  EXPECT_EQ(mrc_soft_close_device(verbs), EBUSY);
  mrc_cq* cq = mrc_create_cq(context, 1, nullptr, nullptr, 0);
  EXPECT_EQ(mrc_destroy_context(context), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
  {
    End a(context, pd);
    EXPECT_EQ(mrc_soft_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(mrc_destroy_cq(a.cq), EBUSY);
  }
}

TEST_F(ObjectsTest, descriptor_zero_is_one_as_well) {
  const harness::NoStandardInput closed;
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
  mrc_context* const other = mrc_create_context(verbs, nullptr);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(mrc_destroy_context(other), 0);
}

// spec/clients.md rule 18: PD before the context, context before the PD, hints last.
TEST_F(ObjectsTest, either_order_of_destruction) {
  mrc_context* other = mrc_create_context(verbs, nullptr);
  ibv_pd* other_pd = mrc_soft_alloc_pd(verbs);
  mrc_qp_hint_init_attr init{};
  mrc_qp_hint* hint = mrc_create_qp_hint(other, &init);
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(mrc_soft_dealloc_pd(other_pd), 0);
  EXPECT_EQ(mrc_destroy_context(other), 0);
  EXPECT_EQ(mrc_destroy_qp_hint(hint), 0);
}

// [API-CTX-2]
TEST_F(ObjectsTest, hints_are_kept_and_busy_only_while_used) {
  mrc_qp_hint_init_attr init{};
  init.attr.num_qps_per_peer = 3;
  init.attr.num_send_peers = 4;
  init.attr.vendor_cfg[127] = 9;
  mrc_qp_hint* hint = mrc_create_qp_hint(context, &init);
  ASSERT_NE(hint, nullptr);
  mrc_qp_hint_attr attr{};
  attr.num_send_peers = 5;
  EXPECT_EQ(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS), 0);
  attr.num_send_peers = -1;
  EXPECT_EQ(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS), -1);
  EXPECT_EQ(mrc_modify_qp_hint(hint, &attr, 1 << 5), -1);
  EXPECT_EQ(errno, EINVAL);
  attr = {};
  EXPECT_EQ(mrc_query_qp_hint(hint, &attr, MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_VENDOR_CFG), 0);
  EXPECT_EQ(attr.num_qps_per_peer, 3);
  EXPECT_EQ(attr.num_send_peers, 0);  // not asked for
  EXPECT_EQ(attr.vendor_cfg[127], 9);
  EXPECT_EQ(mrc_query_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS), 0);
  EXPECT_EQ(attr.num_send_peers, 5);
  {
    End a(context, pd);
    ibv_qp_attr verbs_attr{};
    verbs_attr.qp_state = IBV_QPS_INIT;
    mrc_qp_attr mrc_attr{};
    mrc_attr.qp_hint = hint;
    ASSERT_EQ(mrc_modify_qp(a.qp, &verbs_attr, IBV_QP_STATE, &mrc_attr, MRC_QP_HINT), 0);
    EXPECT_EQ(mrc_destroy_qp_hint(hint), -1);
    EXPECT_EQ(errno, EBUSY);
    mrc_qp_attr queried{};
    ASSERT_EQ(mrc_query_qp(a.qp, nullptr, 0, &queried, MRC_QP_HINT, nullptr), 0);
    EXPECT_EQ(queried.qp_hint, hint);
  }
  EXPECT_EQ(mrc_destroy_qp_hint(hint), 0);
}

// spec/clients.md rule 21, and the caps that mrc_create_qp reports. [API-QP-6]
TEST_F(ObjectsTest, query_fills_init_attr_whatever_the_masks) {
  End a(context, pd);
  mrc_qp_init_attr init{};
  ASSERT_EQ(mrc_query_qp(a.qp, nullptr, 0, nullptr, 0, &init), 0);
  EXPECT_EQ(init.qp_context, &a);
  EXPECT_EQ(init.send_cq, a.cq);
  EXPECT_EQ(init.recv_cq, a.cq);
  EXPECT_EQ(init.pd, pd);
  EXPECT_GE(init.cap.max_send_wr, 128u);
  EXPECT_GE(init.cap.max_inline_data, 64u);
  EXPECT_EQ(init.sq_sig_all, 0);
  ibv_qp_attr attr{};
  ASSERT_EQ(mrc_query_qp(a.qp, &attr, IBV_QP_CAP, nullptr, 0, nullptr), 0);
  EXPECT_EQ(attr.cap.max_inline_data, init.cap.max_inline_data);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RESET);
  EXPECT_EQ(mrc_query_qp(a.qp, &attr, 1 << 30, nullptr, 0, nullptr), EINVAL);
  EXPECT_EQ(mrc_query_qp(nullptr, &attr, 0, nullptr, 0, nullptr), EINVAL);
}

// [API-ERR-2]
TEST_F(ObjectsTest, query_with_a_mask_needs_the_structure) {
  End a(context, pd);
  ibv_qp_attr verbs_attr{};
  mrc_qp_attr attr{};
  EXPECT_EQ(mrc_query_qp(a.qp, nullptr, IBV_QP_STATE, nullptr, 0, nullptr), EINVAL);
  EXPECT_EQ(mrc_query_qp(a.qp, &verbs_attr, IBV_QP_STATE, nullptr, MRC_QP_MPR, nullptr), EINVAL);
  EXPECT_EQ(mrc_query_qp(a.qp, &verbs_attr, IBV_QP_STATE, &attr, MRC_QP_MPR, nullptr), 0);
  EXPECT_EQ(mrc_query_qp(a.qp, nullptr, 0, nullptr, 0, nullptr), 0);
}

// [MRC-CHOICE-Q26]
TEST_F(ObjectsTest, the_largest_window_is_255_units) {
  mrc_device_attr device{};
  int supported = 0;
  ASSERT_EQ(mrc_query_device(verbs, &device, &supported), 0);
  EXPECT_EQ(device.mpr_attr.max_mpr, 255);
}

// [API-QP-3] Packets with a traffic class whose DSCP means trimmed or control would not arrive as data.
TEST_F(ObjectsTest, traffic_classes_with_a_reserved_dscp_are_refused) {
  for (const int dscp : {12, 16, 46, 0, 4, 10}) {
    End a(context, pd);
    ASSERT_EQ(a.to_init(), 0);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = a.qpn;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = gid;
    attr.ah_attr.grh.sgid_index = 3;
    attr.ah_attr.grh.traffic_class = static_cast<uint8_t>(dscp << 2 | 2);
    const bool reserved = dscp == 12 || dscp == 16 || dscp == 46;
    EXPECT_EQ(mrc_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                            nullptr, 0),
              reserved ? EINVAL : 0)
        << dscp;
  }
}

// The code that first detects an error logs it, no other, and MRC_LOG silences it.
TEST_F(ObjectsTest, a_failure_is_logged_once) {
  End a(context, pd);
  ASSERT_EQ(a.to_init(), 0);
  union ibv_gid unreachable {};
  unreachable.raw[0] = 0x20;
  unreachable.raw[15] = 1;
  const auto said = [&](auto&& act) {
    testing::internal::CaptureStderr();
    act();
    return testing::internal::GetCapturedStderr();
  };
  const std::string peer = said([&] { EXPECT_EQ(a.to_rtr(unreachable, 5), ENETUNREACH); });
  EXPECT_EQ(std::count(peer.begin(), peer.end(), '\n'), 1) << peer;
  EXPECT_EQ(peer.rfind("mrc: error: ", 0), 0u) << peer;
}

TEST_F(ObjectsTest, query_returns_what_was_set_and_good_defaults) {
  End a(context, pd), b(context, pd);
  mrc_qp_attr attr{};
  ASSERT_EQ(mrc_query_qp(a.qp, nullptr, 0, &attr, MRC_QP_MPR | MRC_QP_MAX_WIMM | MRC_QP_RETRY_CNT, nullptr), 0);
  EXPECT_GE(attr.mpr.mpr, 1);
  EXPECT_GE(attr.wimm.max_wimm, 64);
  EXPECT_EQ(attr.mpr.mpr_dest, 0);  // not asked for
  connect(&a, &b);
  ibv_qp_attr verbs_attr{};
  ASSERT_EQ(mrc_query_qp(a.qp, &verbs_attr, IBV_QP_STATE | IBV_QP_DEST_QPN | IBV_QP_AV, nullptr, 0, nullptr), 0);
  EXPECT_EQ(verbs_attr.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(verbs_attr.dest_qp_num, b.qpn);
  EXPECT_EQ(verbs_attr.retry_cnt, 14);
  EXPECT_EQ(std::memcmp(verbs_attr.ah_attr.grh.dgid.raw, gid.raw, 16), 0);
}

TEST_F(ObjectsTest, qps_that_are_refused) {
  mrc_cq* cq = mrc_create_cq(context, 1, nullptr, nullptr, 0);
  mrc_qp_init_attr good{};
  good.send_cq = good.recv_cq = cq;
  good.pd = pd;
  const auto refused = [&](mrc_qp_init_attr init, int error) {
    EXPECT_EQ(mrc_create_qp(context, &init), nullptr);
    EXPECT_EQ(errno, error);
  };
  mrc_qp_init_attr bad = good;
  bad.send_cq = nullptr;
  refused(bad, EINVAL);
  bad = good;
  bad.pd = nullptr;
  refused(bad, EINVAL);
  bad = good;
  bad.cap.max_send_wr = 32769;
  refused(bad, EINVAL);
  bad = good;
  bad.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
  refused(bad, EOPNOTSUPP);
  bad = good;
  bad.protocol_version = static_cast<mrc_protocol_version>(2);
  refused(bad, EOPNOTSUPP);
  mrc_context* other = mrc_create_context(verbs, nullptr);
  EXPECT_EQ(mrc_create_qp(other, &good), nullptr);  // the CQ is another context's
  EXPECT_EQ(mrc_destroy_context(other), 0);
  mrc_qp* qp = mrc_create_qp(context, &good);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(mrc_destroy_qp(qp), 0);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
}

// [API-ERR-1]
TEST_F(ObjectsTest, cqs_that_are_refused) {
  EXPECT_EQ(mrc_create_cq(context, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(mrc_create_cq(context, 1, nullptr, nullptr, -1), nullptr);
  EXPECT_EQ(mrc_create_cq(context, 1, nullptr, nullptr, verbs->num_comp_vectors), nullptr);
  EXPECT_EQ(mrc_create_cq(context, (1 << 22) + 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_wc wc;
  EXPECT_EQ(mrc_poll_cq(nullptr, 1, &wc), -1);
}

TEST_F(ObjectsTest, reports_are_texts_of_the_promised_size) {
  const auto whole = [](auto&& ask) {
    const int n = ask(nullptr, 0);
    EXPECT_GT(n, 0);
    std::string text(static_cast<size_t>(n) + 1, 'x');
    EXPECT_EQ(ask(text.data(), text.size()), n);
    EXPECT_EQ(std::strlen(text.c_str()), static_cast<size_t>(n));
    char small[4];
    EXPECT_EQ(ask(small, sizeof small), n);
    EXPECT_EQ(std::string(small), text.substr(0, 3));
    return text;
  };
  const std::string params = whole([](char* t, size_t s) { return mrc_soft_describe_params(t, s); });
  EXPECT_NE(params.find("\"ev_count\""), std::string::npos);
  whole([&](char* t, size_t s) { return mrc_soft_describe_device(verbs, t, s); });
  EXPECT_NE(whole([&](char* t, size_t s) { return mrc_soft_query_stats(verbs, t, s); }).find("tx_packets "),
            std::string::npos);
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  EXPECT_NE(whole([&](char* t, size_t s) { return mrc_soft_query_qp_stats(a.qp, t, s); }).find("cwnd "),
            std::string::npos);
  EXPECT_EQ(mrc_soft_query_qp_stats(nullptr, nullptr, 0), -1);
}

TEST_F(ObjectsTest, denying_an_ev_shows) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  std::string text(1 << 20, '\0');
  ASSERT_GT(mrc_soft_query_qp_stats(a.qp, text.data(), text.size()), 0);
  const size_t at = text.find("\nev.");
  ASSERT_NE(at, std::string::npos);
  const auto ev = static_cast<uint32_t>(std::stoul(text.substr(at + 4)));
  EXPECT_EQ(text.find(" DENIED "), std::string::npos);
  EXPECT_EQ(mrc_soft_deny_ev(a.qp, ev, 1), 0);
  ASSERT_GT(mrc_soft_query_qp_stats(a.qp, text.data(), text.size()), 0);
  EXPECT_NE(text.find(" DENIED "), std::string::npos);
  EXPECT_EQ(mrc_soft_deny_ev(a.qp, ev, 0), 0);
  EXPECT_EQ(mrc_soft_deny_ev(a.qp, 0xFFFFFFFF, 1), ENOENT);
}

// [MRC-SACK-9] The penalty travels in every SACK and narrows the sender's window.
TEST_F(ObjectsTest, receiver_penalty_narrows_the_senders_window) {
  EXPECT_EQ(mrc_soft_set_receiver_penalty(nullptr, 0, 0), EINVAL);
  EXPECT_EQ(mrc_soft_set_receiver_penalty(verbs, 128, 0), EINVAL);
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  const auto cwnd = [&] {
    std::string text(1 << 20, '\0');
    EXPECT_GT(mrc_soft_query_qp_stats(a.qp, text.data(), text.size()), 0);
    return std::stoll(text.substr(text.find("cwnd ") + 5));
  };
  const auto move_some = [&] {
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(a.write(b, 1, 1 << 18, IBV_SEND_SIGNALED), 0);
      EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
    }
  };
  move_some();
  const long long before = cwnd();
  ASSERT_EQ(mrc_soft_set_receiver_penalty(verbs, 127, 0), 0);
  move_some();
  EXPECT_LT(cwnd(), before);
  ASSERT_EQ(mrc_soft_set_receiver_penalty(verbs, 0, 1), 0);
}

TEST_F(ObjectsTest, unresolvable_addresses_are_refused) {
  End a(context, pd);
  ASSERT_EQ(a.to_init(), 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = 5;
  attr.ah_attr.is_global = 0;  // no GRH, as RoCE NICs refuse it
  attr.ah_attr.grh.dgid = gid;
  attr.ah_attr.grh.sgid_index = 3;
  const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  EXPECT_EQ(mrc_modify_qp(a.qp, &attr, mask, nullptr, 0), EINVAL);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(a.state(), IBV_QPS_INIT);
  attr.ah_attr.is_global = 1;
  EXPECT_EQ(mrc_modify_qp(a.qp, &attr, mask, nullptr, 0), 0);
  EXPECT_EQ(a.state(), IBV_QPS_RTR);
}

}  // namespace
}  // namespace mrc::api
