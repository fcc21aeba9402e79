// Endpoint operations of the controller API on a device that answers its own: each EV, batches of any length, and what
// is refused. [API-CTL-2] [MRC-PORT-1]
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

// QPNs of slot 0 name the process that answers probes, so the device has that slot.
class EndpointOpsTest : public ApiTest {
 protected:
  static constexpr uint32_t kLimitNs = 4000000000u;

  void SetUp() override {
    ApiTest::SetUp();
    End a(context, pd);
    ASSERT_EQ(a.qpn >> 16, 0u) << "another process of this host holds the standard ports";
  }
  // One request per EV of the device, as its statistics show them.
  std::vector<mrc_ctl_ep_req> all_evs() {
    std::string text(1 << 20, '\0');
    End a(context, pd), b(context, pd);
    connect(&a, &b);
    EXPECT_GT(mrc_soft_query_qp_stats(a.qp, text.data(), text.size()), 0);
    std::vector<mrc_ctl_ep_req> requests;
    for (size_t at = text.find("\nev."); at != std::string::npos; at = text.find("\nev.", at + 1)) {
      unsigned ev, plane;
      EXPECT_EQ(std::sscanf(text.c_str() + at, " ev.%u plane %u", &ev, &plane), 2);
      mrc_ctl_ep_req request{};
      request.req_id = static_cast<uint16_t>(500 + requests.size());
      request.dgid = gid;
      request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
      request.req_ev.val[0] = static_cast<uint8_t>(ev >> 8);
      request.req_ev.val[1] = static_cast<uint8_t>(ev);
      request.req_ev.port = static_cast<uint8_t>(plane);
      requests.push_back(request);
    }
    EXPECT_GT(requests.size(), 8u);
    return requests;
  }
  int probe(std::vector<mrc_ctl_ep_req>* requests, uint32_t limit_ns, std::vector<mrc_ctl_ep_rsp>* answers) {
    answers->resize(requests->size());
    int n = -1;
    const int result = mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_EV_PROBE, requests->data(),
                                                  static_cast<int>(requests->size()), limit_ns, answers->data(), &n);
    answers->resize(static_cast<size_t>(std::max(n, 0)));
    return result;
  }
};

// The answer comes back on the plane that was asked.
TEST_F(EndpointOpsTest, every_ev_is_answered) {
  std::vector<mrc_ctl_ep_req> requests = all_evs();
  std::vector<mrc_ctl_ep_rsp> answers;
  ASSERT_EQ(probe(&requests, kLimitNs, &answers), 0) << std::strerror(errno);
  ASSERT_EQ(answers.size(), requests.size());
  std::vector<bool> seen(requests.size());
  for (const mrc_ctl_ep_rsp& answer : answers) {
    const auto i = static_cast<size_t>(answer.req_id - 500);
    ASSERT_LT(i, requests.size());
    EXPECT_FALSE(seen[i]);
    seen[i] = true;
    EXPECT_EQ(answer.port, requests[i].req_ev.port);
    EXPECT_GT(answer.rtt, 0u);
    EXPECT_EQ(answer.adj_svc_time, 0);
  }
}

// In virtual time and through shared memory: of so many the sockets of a busy host lose some.
class EndpointBatchTest : public EndpointOpsTest {};

// More than the engine holds at once: they leave in portions, and none is silently dropped.
TEST_F(EndpointBatchTest, a_long_batch_is_answered_in_full) {
  const std::vector<mrc_ctl_ep_req> evs = all_evs();
  std::vector<mrc_ctl_ep_req> requests;
  for (uint16_t i = 0; i < 3000; ++i) {
    requests.push_back(evs[i % evs.size()]);
    requests.back().req_id = i;
  }
  std::vector<mrc_ctl_ep_rsp> answers;
  EXPECT_EQ(probe(&requests, kLimitNs, &answers), 0);
  EXPECT_EQ(answers.size(), requests.size());
}

TEST_F(EndpointOpsTest, the_limit_ends_a_batch) {
  std::vector<mrc_ctl_ep_req> requests = all_evs();
  std::vector<mrc_ctl_ep_rsp> answers;
  if (probe(&requests, 1, &answers) != 0) {
    EXPECT_EQ(errno, ETIMEDOUT);
  }
  EXPECT_EQ(probe(&requests, kLimitNs, &answers), 0) << "late answers do not disturb the next batch";
  EXPECT_EQ(answers.size(), requests.size());
}

TEST_F(EndpointOpsTest, invalid_requests_are_refused) {
  std::vector<mrc_ctl_ep_req> requests = all_evs();
  mrc_ctl_ep_rsp answers[8];
  int n = -1;
  requests[1].req_id = requests[0].req_id;
  EXPECT_EQ(mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(), 2, 1, answers, &n), -1);
  EXPECT_EQ(errno, EINVAL);
  requests[1].req_id = 1;
  const auto refused = [&](mrc_ctl_ep_op_type type) {
    errno = 0;
    return mrc_ctl_ep_batch_send_wait(context, 0, type, requests.data(), 1, 1, answers, &n) == -1 ? errno : 0;
  };
  // A source that is not this device's, and a port status that names no port [MRC-PORT-1].
  requests[0].sgid = gid;
  requests[0].sgid.raw[0] ^= 0x55;
  EXPECT_EQ(refused(MRC_CTL_EP_OP_EV_PROBE), EINVAL);
  requests[0].sgid = gid;
  for (const uint32_t none : {0u, 1u, 1u << 9}) {
    requests[0].op.port_status_update.port_status = none;
    EXPECT_EQ(refused(MRC_CTL_EP_OP_PORT_STATUS_UPDATE), EINVAL) << none;
  }
  EXPECT_EQ(mrc_ctl_ep_batch_send_wait(context, 12 << 2, MRC_CTL_EP_OP_EV_PROBE, requests.data(), 1, 1, answers, &n),
            -1);
  EXPECT_EQ(errno, EINVAL);  // the DSCP of trimmed packets
  requests[0].req_ev.port = 77;
  EXPECT_EQ(mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(), 1, 1, answers, &n), -1);
  EXPECT_EQ(errno, EINVAL);
  requests[0].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
  EXPECT_EQ(mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(), 1, 1, answers, &n), -1);
  EXPECT_EQ(errno, ENOTSUP);
  EXPECT_EQ(n, 0);
}

}  // namespace
}  // namespace mrc::api
