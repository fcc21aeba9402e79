// Multicast groups of datagram queue pairs, over datapaths that carry them. [API-UD-5]
#include <arpa/inet.h>

#include <cerrno>

#include "harness/datagram_end.h"

namespace mrc::api {
namespace {

class MulticastApiTest : public DatagramTest {
 protected:
  static union ibv_gid group(const char* text) {
    union ibv_gid gid {};
    EXPECT_EQ(inet_pton(AF_INET6, text, gid.raw), 1) << text;
    return gid;
  }
  ibv_ah* handle_of(const union ibv_gid& group, uint8_t hop_limit = 0) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = 1;
    attr.grh.dgid = group;
    attr.grh.sgid_index = 3;
    attr.grh.hop_limit = hop_limit;
    return mrc_soft_create_ah(pd, &attr);
  }
  static ibv_send_wr request_to(DatagramEnd& from, ibv_ah* ah) {
    ibv_send_wr wr = from.request(ah, from, 1, 100);
    wr.wr.ud.remote_qpn = 0xFFFFFF;
    return wr;
  }
};

// [API-UD-5]
TEST_F(MulticastApiTest, every_attached_queue_pair_receives_the_senders_too) {
  for (const char* text : {"::ffff:239.77.1.2", "ff15::77:1:2"}) {
    const union ibv_gid to = group(text);
    DatagramEnd a(context, pd), b(context, pd), other(context, pd);
    ibv_ah* const ah = handle_of(to, 3);
    ASSERT_NE(ah, nullptr);
    for (DatagramEnd* end : {&a, &b, &other}) {
      end->start();
      ASSERT_EQ(end->receive(7, 1000 + kHeader), 0);
    }
    for (DatagramEnd* end : {&a, &b}) ASSERT_EQ(mrc_soft_attach_mcast(end->qp, &to), 0) << std::strerror(errno);
    b.buffer.assign(b.buffer.size(), 0);
    a.buffer.assign(a.buffer.size(), 0x5A);
    ASSERT_EQ(a.send(request_to(a, ah)), 0);
    ibv_wc got = b.wait();
    EXPECT_EQ(got.opcode, IBV_WC_RECV);
    EXPECT_EQ(got.src_qp, mrc_soft_ud_qpn(a.qp));
    EXPECT_EQ(got.byte_len, 100 + kHeader);
    EXPECT_EQ(b.buffer[kHeader + 99], 0x5A);
    EXPECT_EQ(std::memcmp(b.buffer.data() + (to.raw[0] == 0xFF ? 24 : 36), to.raw + (to.raw[0] == 0xFF ? 0 : 12), 4),
              0);
    bool sent = false, received = false;
    for (int i = 0; i < 2; ++i) (a.wait().opcode == IBV_WC_SEND ? sent : received) = true;
    EXPECT_TRUE(sent && received);
    EXPECT_EQ(other.poll_once(), 0);

    // Without b, whose next receive request stays.
    ASSERT_EQ(mrc_soft_detach_mcast(b.qp, &to), 0);
    ASSERT_EQ(b.receive(8, 1000 + kHeader), 0);
    ASSERT_EQ(a.receive(8, 1000 + kHeader), 0);
    ASSERT_EQ(a.send(request_to(a, ah)), 0);
    for (int i = 0; i < 2; ++i) a.wait();
    EXPECT_EQ(b.poll_once(), 0);
    ASSERT_EQ(mrc_soft_detach_mcast(a.qp, &to), 0);
    EXPECT_EQ(mrc_soft_destroy_ah(ah), 0);
  }
}

// [API-UD-5]
TEST_F(MulticastApiTest, addresses_that_are_no_group_are_refused) {
  const union ibv_gid to = group("::ffff:239.77.1.3");
  DatagramEnd a(context, pd);
  a.start();
  for (const char* text : {"::1", "fe80::1", "::ffff:10.0.0.1"}) {
    const union ibv_gid host = group(text);
    EXPECT_EQ(mrc_soft_attach_mcast(a.qp, &host), EINVAL) << text;
    EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &host), EINVAL) << text;
  }
  EXPECT_EQ(mrc_soft_attach_mcast(nullptr, &to), EINVAL);
  EXPECT_EQ(mrc_soft_attach_mcast(a.qp, nullptr), EINVAL);
  EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &to), EINVAL);
  ASSERT_EQ(mrc_soft_attach_mcast(a.qp, &to), 0);
  EXPECT_EQ(mrc_soft_attach_mcast(a.qp, &to), 0);
  EXPECT_EQ(mrc_soft_destroy_ud_qp(a.qp), EBUSY);
  ibv_ah* const ah = handle_of(to);
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(a.send(a.request(ah, a, 1, 8)), EINVAL);  // not to the multicast number
  EXPECT_EQ(mrc_soft_destroy_ah(ah), 0);
  EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &to), 0);
  EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &to), EINVAL);
}

// [API-UD-5] [MRC-UD-11]
TEST_F(MulticastApiTest, limits_are_those_of_the_query) {
  ibv_device_attr attr;
  ASSERT_EQ(mrc_soft_query_device(verbs, &attr), 0);
  ASSERT_EQ(attr.max_mcast_grp, 32);
  EXPECT_EQ(attr.max_mcast_qp_attach, 64);
  EXPECT_EQ(attr.max_total_mcast_qp_attach, 32 * 64);
  DatagramEnd a(context, pd);
  union ibv_gid to = group("::ffff:239.78.0.0");
  for (int i = 0; i < attr.max_mcast_grp; ++i) {
    to.raw[15] = static_cast<uint8_t>(i);
    ASSERT_EQ(mrc_soft_attach_mcast(a.qp, &to), 0) << i << std::strerror(errno);
  }
  to.raw[15] = 99;
  EXPECT_EQ(mrc_soft_attach_mcast(a.qp, &to), ENOMEM);
  to.raw[15] = 5;
  EXPECT_EQ(mrc_soft_detach_mcast(a.qp, &to), 0);
  to.raw[15] = 99;
  EXPECT_EQ(mrc_soft_attach_mcast(a.qp, &to), 0);
  for (int i = 0; i <= 99; ++i) {
    to.raw[15] = static_cast<uint8_t>(i);
    (void)mrc_soft_detach_mcast(a.qp, &to);
  }
}

}  // namespace
}  // namespace mrc::api
