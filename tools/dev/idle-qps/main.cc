// mrc-idle-qps: memory of idle queue pairs, measured. All are of one process and one device and connected in pairs;
// each has written a few small messages and received as many, every byte of which is compared, and is idle again.
// Memory is the resident set of the process, whatever part of the library or the C library holds it.
#include <mrc.h>
#include <mrc_soft.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "command_line.h"

namespace {

constexpr uint32_t kMessage = 64, kRounds = 4, kInFlight = 64;  // bytes, messages of each QP, messages of all QPs
constexpr int kPoll = 64;

struct Options {
  uint32_t qps = 10000;
  uint32_t depth = 128;  // of the send and the receive queue
  double settle_s = 1;
};

void check(bool good, const char* what, int error = errno) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + std::strerror(error));
}

uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

class Idle {
 public:
  explicit Idle(const Options& o) : o_(o), memory_(2 * uint64_t{o.qps} * kMessage) {
    device_ = mrc_soft_open_device_by_name(nullptr);
    check(device_ != nullptr, "cannot open the device");
    mrc_ = mrc_create_context(device_, nullptr);
    check(mrc_ != nullptr, "mrc_create_context");
    pd_ = mrc_soft_alloc_pd(device_);
    check(pd_ != nullptr, "mrc_soft_alloc_pd");
    check(mrc_soft_query_gid(device_, 1, 3, &gid_) == 0, "mrc_soft_query_gid");
    mr_ = mrc_soft_reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    check(mr_ != nullptr, "mrc_soft_reg_mr");
    cq_ = mrc_create_cq(mrc_, 4 * kInFlight, nullptr, nullptr, 0);
    check(cq_ != nullptr, "mrc_create_cq");
    qps_.reserve(o.qps);
  }
  ~Idle() {
    for (mrc_qp* qp : qps_) mrc_destroy_qp(qp);
    if (cq_ != nullptr) mrc_destroy_cq(cq_);
    if (mr_ != nullptr) mrc_soft_dereg_mr(mr_);
    if (mrc_ != nullptr) mrc_destroy_context(mrc_);
    if (pd_ != nullptr) mrc_soft_dealloc_pd(pd_);
    if (device_ != nullptr) mrc_soft_close_device(device_);
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

  nlohmann::json measure() {
    const uint64_t before = resident_bytes();
    const auto each = [&] { return static_cast<double>(resident_bytes() - before) / o_.qps; };
    for (uint32_t i = 0; i < o_.qps; ++i) create();
    const double created = each();
    for (uint32_t i = 0; i < o_.qps; ++i) connect(qps_[i], qps_[i ^ 1]);
    const double connected = each();
    for (uint32_t round = 0; round < kRounds; ++round) {
      for (uint32_t i = 0; i < o_.qps; ++i) std::memcpy(source(i), message(i, round).data(), kMessage);
      write_all();
      for (uint32_t i = 0; i < o_.qps; ++i)
        if (std::memcmp(target(i), message(i ^ 1, round).data(), kMessage) != 0)
          throw std::runtime_error("what queue pair " + std::to_string(i) + " received is not what its peer sent");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(o_.settle_s));
    return {{"qps", o_.qps},
            {"by_slot", by_slot_},
            {"created_bytes", created},
            {"connected_bytes", connected},
            {"idle_bytes", each()}};
  }

 private:
  // What queue pair i sends in a round; different for each.
  static std::array<uint8_t, kMessage> message(uint32_t i, uint32_t round) {
    std::array<uint8_t, kMessage> bytes;
    for (uint32_t b = 0; b < kMessage; ++b)
      bytes[b] = static_cast<uint8_t>((i + 1) * 2654435761u >> (b % 4 * 8)) ^ (b + round);
    return bytes;
  }
  uint8_t* source(uint32_t i) { return &memory_[uint64_t{i} * kMessage]; }
  uint8_t* target(uint32_t i) { return &memory_[(uint64_t{o_.qps} + i) * kMessage]; }

  void create() {
    mrc_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.pd = pd_;
    init.cap = {o_.depth, o_.depth, 1, 1, 0};
    mrc_qp* const qp = mrc_create_qp(mrc_, &init);
    check(qp != nullptr, "mrc_create_qp");
    qps_.push_back(qp);
    uint32_t qpn = 0;
    check(mrc_get_qpn(qp, &qpn) == 0, "mrc_get_qpn");
    ++by_slot_[std::to_string(qpn >> 16)];
  }

  void connect(mrc_qp* qp, mrc_qp* peer) {
    uint32_t qpn = 0;
    check(mrc_get_qpn(peer, &qpn) == 0, "mrc_get_qpn");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    modify(qp, attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = qpn;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = gid_;
    attr.ah_attr.grh.sgid_index = 3;
    modify(qp, attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    attr.qp_state = IBV_QPS_RTS;
    modify(qp, attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
  }

  static void modify(mrc_qp* qp, ibv_qp_attr attr, int mask) {
    const int error = mrc_modify_qp(qp, &attr, mask, nullptr, 0);
    check(error == 0, "mrc_modify_qp", error);
  }

  // One message of each queue pair, and so one to each.
  void write_all() {
    uint32_t posted = 0, done = 0;
    while (done < o_.qps) {
      for (; posted < o_.qps && posted - done < kInFlight; ++posted) write(posted);
      ibv_wc wc[kPoll];
      const int n = mrc_poll_cq(cq_, kPoll, wc);
      check(n >= 0, "mrc_poll_cq");
      for (int i = 0; i < n; ++i)
        if (wc[i].status != IBV_WC_SUCCESS)
          throw std::runtime_error("a completion failed with status " + std::to_string(wc[i].status));
      done += static_cast<uint32_t>(n);
    }
  }

  void write(uint32_t index) {
    ibv_sge sge{reinterpret_cast<uint64_t>(source(index)), kMessage, mr_->lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(target(index ^ 1));
    wr.wr.rdma.rkey = mr_->rkey;
    const int error = mrc_post_send(qps_[index], &wr, &bad);
    check(error == 0, "mrc_post_send", error);
  }

  const Options o_;
  std::vector<uint8_t> memory_;
  ibv_context* device_ = nullptr;
  mrc_context* mrc_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_mr* mr_ = nullptr;
  mrc_cq* cq_ = nullptr;
  ibv_gid gid_{};
  std::vector<mrc_qp*> qps_;
  std::map<std::string, uint32_t> by_slot_;  // queue pairs of each process slot, and so of each shard
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Memory of idle queue pairs of one process, as one JSON line: bytes of each, connected in pairs and used.",
      "mrc-idle-qps");
  Options o;
  app.add_option("--qps", o.qps, "Queue pairs, rounded up to an even number; more than 65532 need MRC_SHARDS")
      ->check(mrc::support::in_range(2, 1000000))
      ->capture_default_str();
  app.add_option("--depth", o.depth, "Entries of the send and of the receive queue of each")
      ->check(mrc::support::in_range(1, 8192))
      ->capture_default_str();
  app.add_option("--settle", o.settle_s, "Seconds between the last message and the measurement")
      ->check(mrc::support::in_range(0.0, 60.0))
      ->capture_default_str();
  if (const auto status = mrc::support::parse_command_line(&app, "mrc-idle-qps", argc, argv)) return *status;
  o.qps += o.qps % 2;
  try {
    std::printf("%s\n", Idle(o).measure().dump().c_str());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrc-idle-qps: %s\n", e.what());
    return 1;
  }
}
