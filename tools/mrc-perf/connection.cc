#include "connection.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <random>

#include "error.h"

namespace mrc::perf {

namespace {

constexpr uint64_t kVerifyBytes = 32ULL << 20;   // receive slots of a verified run, all QPs together
constexpr uint64_t kRegionBytes = 256ULL << 20;  // receive slots of other runs

constexpr char kHex[] = "0123456789abcdef";

int mtu_enum(uint32_t bytes) {  // 8192 follows the enumerators of verbs as this library's extension
  int value = IBV_MTU_256;
  for (uint32_t m = 256; m < bytes; m *= 2) ++value;
  return value;
}

}  // namespace

std::string hex_of_gid(const ibv_gid& gid) {
  std::string text;
  for (uint8_t b : gid.raw) text += kHex[b >> 4], text += kHex[b & 15];
  return text;
}

ibv_gid gid_from_hex(const std::string& text) {
  ibv_gid gid{};
  if (text.size() != 2 * sizeof gid.raw || text.find_first_not_of(kHex) != std::string::npos)
    throw PerfError("the peer's GID '" + text + "' is none", "use the same version on both sides");
  for (size_t i = 0; i < sizeof gid.raw; ++i)
    gid.raw[i] = static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return gid;
}

void check_receive_bytes(uint64_t bytes) {
  if (bytes <= (16ULL << 30)) return;
  throw PerfError("this run needs " + std::to_string(bytes >> 30) + " GiB of receive buffers",
                  "use fewer --qps, a smaller --size or a smaller --depth");
}

Plan make_plan(const Options& o, uint64_t size) {
  Plan p;
  p.size = size;
  p.slot_bytes = std::max<uint64_t>((size + 63) / 64 * 64, 64);
  // Enough in flight to keep the window full, not so much that a run of many QPs or huge messages drowns.
  p.depth = o.depth;
  if (p.depth == 0) {
    const uint64_t by_bytes = (64ULL << 20) / p.slot_bytes, by_qps = 16384 / o.qps;
    p.depth = static_cast<uint32_t>(std::clamp<uint64_t>(std::min(by_bytes, by_qps), 4, 128));
  }
  if (o.verify) {
    // A slot may be written again only when the receiver has checked it, so slots bound what is in flight.
    const uint64_t fit = kVerifyBytes / p.slot_bytes / o.qps;
    p.slots = std::clamp<uint64_t>(fit, std::min<uint32_t>(p.depth, 4), p.depth);
    p.depth = static_cast<uint32_t>(p.slots);
  }
  p.chunk = o.signal_every != 0 ? std::min(o.signal_every, p.depth) : std::max(1U, std::min(16U, p.depth / 4));
  if (o.iters != 0) p.chunk = static_cast<uint32_t>(std::min<uint64_t>(p.chunk, o.iters));
  p.window = std::max(1U, p.depth / p.chunk);
  p.depth = p.window * p.chunk;
  if (o.verify) {
    p.slots = p.depth;
    p.regions = o.qps;
  } else {
    p.regions = std::clamp<uint64_t>(kRegionBytes / p.slot_bytes, 1, o.qps);
  }
  p.credits_at = p.regions * p.slots * p.slot_bytes;
  p.buffer_bytes = p.credits_at + uint64_t{o.qps} * 8;
  check_receive_bytes(p.buffer_bytes);
  return p;
}

// Sends: a full window, a notice per chunk and the returned credits. Receives: one per message at most.
Connection::Connection(const Options& o, const Device& device, const Plan& plan)
    : o_(o), device_(device), sends_(plan.depth + 2 * plan.window + 2), receives_(plan.depth + plan.window + 2) {
  const uint64_t cqe = std::min<uint64_t>(uint64_t{o.qps} * (sends_ + receives_), 1U << 22);
  cq_ = mrc_create_cq(device.mrc(), static_cast<int>(cqe), nullptr, nullptr, 0);
  if (cq_ == nullptr) check(errno, "mrc_create_cq", "use fewer --qps or a smaller --depth");
}

void Connection::connect(const Memory& buffer, Oob& oob) {
  std::mt19937 random{std::random_device{}()};
  std::vector<uint32_t> qpns(qps_.size()), psns(qps_.size());
  for (size_t i = 0; i < qps_.size(); ++i) {
    check(mrc_get_qpn(qps_[i], &qpns[i]), "mrc_get_qpn", "this is a defect of the library");
    psns[i] = random() & 0xFFFFFF;
  }
  oob.send({{"gid", hex_of_gid(device_.gid())},
            {"qpns", qpns},
            {"psns", psns},
            {"mtu", device_.active_mtu()},
            {"addr", reinterpret_cast<uint64_t>(buffer.data())},
            {"rkey", buffer.mr().rkey}});
  const nlohmann::json peer = oob.receive(60);
  const ibv_gid dgid = gid_from_hex(peer.at("gid"));
  const auto peer_qpns = peer.at("qpns").get<std::vector<uint32_t>>(),
             peer_psns = peer.at("psns").get<std::vector<uint32_t>>();
  if (peer_qpns.size() != qps_.size() || peer_psns.size() != qps_.size())
    throw PerfError("the two sides made different numbers of queue pairs", "use the same version on both sides");
  mtu_ = o_.mtu != 0 ? o_.mtu : std::min(device_.active_mtu(), peer.at("mtu").get<uint32_t>());
  peer.at("addr").get_to(remote_addr_);
  peer.at("rkey").get_to(rkey_);
  for (size_t i = 0; i < qps_.size(); ++i) connect_qp(qps_[i], dgid, peer_qpns[i], psns[i], peer_psns[i]);
}

Connection::~Connection() {
  for (mrc_qp* qp : qps_) mrc_destroy_qp(qp);
  if (cq_ != nullptr) mrc_destroy_cq(cq_);
}

void Connection::create_qp() {
  mrc_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq_;
  init.pd = device_.pd();
  init.cap.max_send_wr = sends_;
  init.cap.max_recv_wr = receives_;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = static_cast<uint32_t>(std::max(8, o_.inline_bytes));
  mrc_qp* qp = mrc_create_qp(device_.mrc(), &init);
  if (qp == nullptr)
    check(errno, ("mrc_create_qp, number " + std::to_string(qps_.size() + 1)).c_str(),
          "use fewer --qps, a smaller --depth or --inline; mrc-info shows the limits");
  qps_.push_back(qp);
  max_inline_ = init.cap.max_inline_data;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  check(mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, nullptr, 0),
        "mrc_modify_qp to INIT", "this is a defect of the library");
}

void Connection::connect_qp(mrc_qp* qp, const ibv_gid& dgid, uint32_t dest_qpn, uint32_t sq_psn, uint32_t rq_psn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = static_cast<ibv_mtu>(mtu_enum(mtu_));
  attr.dest_qp_num = dest_qpn;
  attr.rq_psn = rq_psn;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = dgid;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(device_.gid_index());
  attr.ah_attr.grh.hop_limit = 64;
  check(mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, nullptr,
                      0),
        "mrc_modify_qp to RTR",
        "the peer's GID must be reachable by the planes of this device, and --mtu fit their MTU: see mrc-info on both "
        "sides");

  ibv_qp_attr rts{};
  rts.qp_state = IBV_QPS_RTS;
  rts.sq_psn = sq_psn;
  mrc_qp_attr extra{};
  int mask = 0;
  if (o_.timeout >= 0) extra.timeout = static_cast<uint8_t>(o_.timeout), mask |= MRC_QP_TIMEOUT;
  if (o_.retry_linear >= 0) {
    extra.retry.linear_cnt = static_cast<uint8_t>(o_.retry_linear);
    extra.retry.exp_cnt = static_cast<uint8_t>(o_.retry_exp);
    mask |= MRC_QP_RETRY_CNT;
  }
  check(mrc_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN, mask != 0 ? &extra : nullptr, mask),
        "mrc_modify_qp to RTS", "check --timeout and --retry");
}

}  // namespace mrc::perf
