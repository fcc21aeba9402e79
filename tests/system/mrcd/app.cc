// An application and a controller for the tests of mrcd: a command a line on stdin, an answer a line on stdout.
//
//     qp EV CC       a QP to itself with these profiles -> "qp 0", or the errno value
//     reach GID      a QP to number 1 of that peer, without profiles -> errno value
//     drop           destroys its QPs -> "drop"
//     write N        N writes of 4096 bytes over the last QP -> "write N"
//     auto ID        as a controller: an automatic EV profile, ONLINE -> errno value
//     offline ID     as a controller: the EV profile goes OFFLINE -> errno value
//     state ID       of the EV profile -> "state 2"
//     entries ID     of the EV profile -> "entries GOOD ASSUMED_BAD DENIED" as counts
//     port N         administrative state -> "port 1"
//     events         a CQ for EV events -> "events"
//     poll           waits a moment for EV events -> "poll PROFILE STATE" of the first, or "poll none"
//     fork           a child that sleeps on, holding what it inherited -> "fork PID"
#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/limits.h"
#include "mrc_ctl.h"
#include "mrc_soft.h"

namespace {

constexpr uint32_t kBytes = 4096;
const auto kTimeLimit = mrc::harness::limit(std::chrono::seconds(10));

int result(int rc) {
  return rc == 0 ? 0 : rc > 0 ? rc : errno;
}

class App {
 public:
  App() = default;
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App() {
    if (verbs_ == nullptr) return;
    drop();
    if (events_ != nullptr) mrc_destroy_cq(events_);
    if (mr_ != nullptr) mrc_soft_dereg_mr(mr_);
    if (cq_ != nullptr) mrc_destroy_cq(cq_);
    if (pd_ != nullptr) mrc_soft_dealloc_pd(pd_);
    if (context_ != nullptr) mrc_destroy_context(context_);
    mrc_soft_close_device(verbs_);
  }
  bool open() {
    verbs_ = mrc_soft_open_device_by_name(nullptr);
    if (verbs_ == nullptr) return false;
    context_ = mrc_create_context(verbs_, nullptr);
    pd_ = mrc_soft_alloc_pd(verbs_);
    cq_ = mrc_create_cq(context_, 64, nullptr, nullptr, 0);
    mr_ = mrc_soft_reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    return context_ != nullptr && cq_ != nullptr && mr_ != nullptr;
  }

  int qp(uint64_t ev, uint64_t cc, const char* to = nullptr) {
    mrc_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.pd = pd_;
    init.cap = {16, 16, 1, 1, 0};
    mrc_qp* made = mrc_create_qp(context_, &init);
    if (made == nullptr) return errno;
    ibv_gid gid{};
    uint32_t qpn = 0;
    mrc_get_qpn(made, &qpn);
    mrc_soft_query_gid(verbs_, 1, 3, &gid);
    if (to != nullptr && inet_pton(AF_INET6, to, gid.raw) != 1) return EINVAL;
    const int error = connect(made, ev, cc, gid, to != nullptr ? 1 : qpn);
    if (error != 0)
      mrc_destroy_qp(made);
    else
      qps_.push_back(made);
    return error;
  }

  void drop() {
    for (mrc_qp* qp : qps_) mrc_destroy_qp(qp);
    qps_.clear();
  }

  int write(int n) {
    if (qps_.empty()) return ENOENT;
    for (int i = 0; i < n; ++i) {
      ibv_sge sge{reinterpret_cast<uintptr_t>(memory_.data()), kBytes, mr_->lkey};
      ibv_send_wr wr{};
      wr.sg_list = &sge;
      wr.num_sge = 1;
      wr.opcode = IBV_WR_RDMA_WRITE;
      wr.send_flags = IBV_SEND_SIGNALED;
      wr.wr.rdma = {reinterpret_cast<uintptr_t>(memory_.data()) + kBytes, mr_->rkey};
      ibv_send_wr* bad = nullptr;
      if (const int error = mrc_post_send(qps_.back(), &wr, &bad)) return error;
      ibv_wc wc;
      const auto until = std::chrono::steady_clock::now() + kTimeLimit;
      while (mrc_poll_cq(cq_, 1, &wc) == 0)
        if (std::chrono::steady_clock::now() > until) return ETIMEDOUT;
      if (wc.status != IBV_WC_SUCCESS) return EIO;
    }
    return 0;
  }

  int automatic(uint64_t id) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
    attr.ev_event_mask = MRC_CTL_EV_ASSUMED_BAD | MRC_CTL_EV_GOOD;
    const int mask = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                     MRC_CTL_EV_PROFILE_EVENT_MASK;
    if (const int error = result(mrc_ctl_modify_ev_profile(context_, id, &attr, mask))) return error;
    return go(id, MRC_CTL_PROFILE_ONLINE);
  }
  int go(uint64_t id, mrc_ctl_profile_state to) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = to;
    return result(mrc_ctl_modify_ev_profile(context_, id, &attr, MRC_CTL_EV_PROFILE_STATE));
  }
  int state(uint64_t id) {
    mrc_ctl_ev_profile_attr attr{};
    return mrc_ctl_query_ev_profile(context_, id, &attr, MRC_CTL_EV_PROFILE_STATE) == 0 ? attr.profile_state : -errno;
  }
  std::string entries(uint64_t id) {
    std::vector<mrc_ctl_ev_op_entry> all(4096);
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, all.data(), static_cast<int>(all.size())};
    if (mrc_ctl_query_ev_profile(context_, id, &attr, MRC_CTL_EV_PROFILE_EV_OP) != 0) return std::to_string(-errno);
    int good = 0, bad = 0, denied = 0;
    for (int i = 0; i < attr.ev_op.entry_count; ++i) {
      good += all[static_cast<size_t>(i)].state == MRC_CTL_EV_GOOD;
      bad += all[static_cast<size_t>(i)].state == MRC_CTL_EV_ASSUMED_BAD;
      denied += all[static_cast<size_t>(i)].state == MRC_CTL_EV_DENIED;
    }
    return std::to_string(good) + " " + std::to_string(bad) + " " + std::to_string(denied);
  }
  int port(uint8_t number) {
    mrc_ctl_port_attr attr{};
    return mrc_ctl_query_port(context_, number, &attr, MRC_CTL_PORT_ADMIN_STATE) == 0 ? attr.port_admin_state : -errno;
  }

  int disable(uint8_t number) {
    mrc_ctl_port_attr attr{MRC_CTL_PORT_ADMIN_DISABLED};
    return result(mrc_ctl_modify_port(context_, number, &attr, MRC_CTL_PORT_ADMIN_STATE));
  }
  // Of the paths of the last QP.
  int denied() {
    std::string text(1 << 16, 0);
    if (qps_.empty() || mrc_soft_query_qp_stats(qps_.back(), text.data(), text.size()) < 0) return -1;
    int count = 0;
    for (size_t at = 0; (at = text.find("state DENIED", at)) != std::string::npos; ++at) ++count;
    return count;
  }

  bool events() {
    events_ = mrc_ctl_create_ev_event_cq(context_, 64, nullptr, nullptr, 0);
    return events_ != nullptr;
  }
  std::string poll() {
    const auto until = std::chrono::steady_clock::now() + kTimeLimit;
    mrc_ctl_ev_event event{};
    while (std::chrono::steady_clock::now() < until) {
      if (mrc_ctl_poll_ev_event(events_, 1, &event) == 1)
        return std::to_string(event.profile_id) + " " + std::to_string(event.state);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return "none";
  }

 private:
  int connect(mrc_qp* qp, uint64_t ev, uint64_t cc, const ibv_gid& gid, uint32_t qpn) {
    mrc_qp_attr mine{};
    mine.profile.ev_profile_id = ev;
    mine.profile.cc_profile_id = cc;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    int error = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, &mine,
                              MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID);
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = qpn;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = gid;
    attr.ah_attr.grh.sgid_index = 3;
    attr.ah_attr.grh.hop_limit = 64;
    if (error == 0)
      error = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                            nullptr, 0);
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    if (error == 0) error = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, nullptr, 0);
    return result(error);
  }

  ibv_context* verbs_ = nullptr;
  mrc_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  mrc_cq* cq_ = nullptr;
  mrc_cq* events_ = nullptr;
  ibv_mr* mr_ = nullptr;
  std::vector<uint8_t> memory_ = std::vector<uint8_t>(2 * kBytes);
  std::vector<mrc_qp*> qps_;
};

}  // namespace

int main() {
  App app;
  if (!app.open()) return std::perror("open"), 1;
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    uint64_t a = 0, b = 0;
    words >> what >> a >> b;
    std::cout << what << " ";
    if (what == "qp") std::cout << app.qp(a, b);
    if (what == "reach") std::cout << app.qp(0, 0, line.substr(what.size() + 1).c_str());
    if (what == "drop") app.drop();
    if (what == "write") std::cout << app.write(static_cast<int>(a));
    if (what == "auto") std::cout << app.automatic(a);
    if (what == "offline") std::cout << app.go(a, MRC_CTL_PROFILE_OFFLINE);
    if (what == "state") std::cout << app.state(a);
    if (what == "entries") std::cout << app.entries(a);
    if (what == "port") std::cout << app.port(static_cast<uint8_t>(a));
    if (what == "disable") std::cout << app.disable(static_cast<uint8_t>(a));
    if (what == "denied") std::cout << app.denied();
    if (what == "events") std::cout << app.events();
    if (what == "poll") std::cout << app.poll();
    if (what == "fork") {
      const pid_t child = fork();
      if (child == 0) {
        close(0);
        close(1);
        close(2);
        for (;;) pause();
      }
      std::cout << child;
    }
    std::cout << std::endl;
  }
  return 0;
}
