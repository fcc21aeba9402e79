#include "datagrams.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "error.h"

namespace mrc::perf {

namespace {

constexpr uint32_t kQkey = 0x4D524350;    // any without its highest bit
constexpr uint32_t kAllReceives = 65536;  // of all queue pairs together, where that leaves each enough
constexpr uint32_t kMinReceives = 16, kMaxReceives = 1024;
constexpr uint64_t kSlot = DatagramSlots::kSlot;

void check_size(uint64_t size, uint32_t mtu, const char* whose) {
  if (size <= mtu) return;
  throw UsageError("a datagram of " + std::to_string(size) + " bytes is larger than the path MTU of " + whose + ", " +
                       std::to_string(mtu) + " bytes",
                   "use a --size of at most " + std::to_string(mtu) + ", or reliable queue pairs: --transport mrc");
}

uint32_t receives_of(const Options& o, const Plan& plan) {
  return std::max(plan.depth, std::clamp(kAllReceives / o.qps, kMinReceives, kMaxReceives));
}

}  // namespace

void fit_datagrams(Options* o, uint32_t mtu) {
  if (!o->datagrams()) return;
  if (o->sizes.empty()) o->sizes = {mtu};
  for (const uint64_t size : o->sizes) check_size(size, mtu, "this device");
}

Datagrams::Datagrams(const Options& o, const Device& device, const Plan& plan)
    : o_(o),
      device_(device),
      sends_(plan.depth),
      // A size that is too large, which the peer has asked for, is refused by connect().
      slots_(device, o.qps, receives_of(o, plan), std::min<uint64_t>(plan.size, device.active_mtu())) {}

void Datagrams::create_qps() {
  const uint64_t cqe = std::min<uint64_t>(uint64_t{o_.qps} * (sends_ + slots_.per_qp()), 1U << 22);
  cq_ = mrc_create_cq(device_.mrc(), static_cast<int>(cqe), nullptr, nullptr, 0);
  if (cq_ == nullptr) check(errno, "mrc_create_cq", "use fewer --qps or a smaller --depth");
  for (uint32_t i = 0; i < o_.qps; ++i) create_qp();
}

Datagrams::~Datagrams() {
  for (mrc_soft_ud_qp* qp : qps_) mrc_soft_destroy_ud_qp(qp);
  if (peer_ != nullptr) mrc_soft_destroy_ah(peer_);
  if (cq_ != nullptr) mrc_destroy_cq(cq_);
}

void Datagrams::create_qp() {
  mrc_soft_ud_init_attr init{};
  init.pd = device_.pd();
  init.send_cq = init.recv_cq = cq_;
  init.cap.max_send_wr = sends_;
  init.cap.max_recv_wr = slots_.per_qp();
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = static_cast<uint32_t>(o_.inline_bytes);
  mrc_soft_ud_qp* const qp = mrc_soft_create_ud_qp(device_.mrc(), &init);
  if (qp == nullptr)
    check(errno, ("mrc_soft_create_ud_qp, number " + std::to_string(qps_.size() + 1)).c_str(),
          "use fewer --qps, a smaller --depth or --inline; mrc-info shows the limits");
  qps_.push_back(qp);
  max_inline_ = init.cap.max_inline_data;
  move_to_rts(qp);
}

void Datagrams::move_to_rts(mrc_soft_ud_qp* qp) {
  constexpr const char* kDefect = "this is a defect of the library";
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = kQkey;
  check(mrc_soft_modify_ud_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
        "mrc_soft_modify_ud_qp to INIT", kDefect);
  attr.qp_state = IBV_QPS_RTR;
  check(mrc_soft_modify_ud_qp(qp, &attr, IBV_QP_STATE), "mrc_soft_modify_ud_qp to RTR", kDefect);
  attr.qp_state = IBV_QPS_RTS;
  check(mrc_soft_modify_ud_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "mrc_soft_modify_ud_qp to RTS", kDefect);
}

void Datagrams::connect(Oob& oob) {
  std::vector<uint32_t> qpns;
  for (mrc_soft_ud_qp* qp : qps_) qpns.push_back(mrc_soft_ud_qpn(qp));
  oob.send({{"gid", hex_of_gid(device_.gid())}, {"qpns", qpns}, {"mtu", device_.active_mtu()}});
  const nlohmann::json peer = oob.receive(60);
  const uint32_t peer_mtu = peer.at("mtu").get<uint32_t>();
  mtu_ = std::min(device_.active_mtu(), peer_mtu);
  for (const uint64_t size : o_.sizes)
    check_size(size, mtu_, device_.active_mtu() <= peer_mtu ? "this device" : "the other side");
  peer.at("qpns").get_to(peer_qpns_);
  if (peer_qpns_.size() != qps_.size())
    throw PerfError("the two sides made different numbers of queue pairs", "use the same version on both sides");
  ibv_ah_attr to{};
  to.is_global = 1;
  to.port_num = 1;
  to.grh.dgid = gid_from_hex(peer.at("gid"));
  to.grh.sgid_index = static_cast<uint8_t>(device_.gid_index());
  to.grh.hop_limit = 64;
  peer_ = mrc_soft_create_ah(device_.pd(), &to);
  if (peer_ == nullptr)
    check(errno, "mrc_soft_create_ah",
          "the peer's GID must be reachable by the planes of this device: see mrc-info on both sides");
}

void Datagrams::post_receives() {
  for (uint64_t i = 0; i < slots_.size(); ++i) {
    ibv_wc wc{};
    wc.wr_id = kSlot | i;
    recycle(wc);
  }
  post_recycled();
}

ibv_send_wr Datagrams::request(uint32_t qp, uint64_t number) const {
  ibv_send_wr wr{};
  wr.wr_id = number & (kSlot - 1);
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.wr.ud.ah = peer_;
  wr.wr.ud.remote_qpn = peer_qpns_[qp];
  wr.wr.ud.remote_qkey = kQkey;
  return wr;
}

unsigned Datagrams::inline_flag(uint64_t size) const {
  return size <= static_cast<uint64_t>(o_.inline_bytes) && size <= max_inline_ ? IBV_SEND_INLINE : 0;
}

void Datagrams::post(uint32_t qp, ibv_send_wr* list) {
  ibv_send_wr* bad = nullptr;
  check(mrc_soft_post_ud_send(qps_[qp], list, &bad), "mrc_soft_post_ud_send", "use a smaller --depth");
}

bool Datagrams::is_receive(const ibv_wc& wc) {
  return (wc.wr_id & kSlot) != 0;
}
uint64_t Datagrams::number(const ibv_wc& wc) {
  return wc.wr_id & (kSlot - 1);
}

Datagrams::Arrived Datagrams::arrived(const ibv_wc& wc) const {
  const uint64_t at = number(wc);
  return {slots_.qp_of(at), slots_.data(at), DatagramSlots::data_bytes(wc.byte_len)};
}

void Datagrams::recycle(const ibv_wc& wc) {
  const uint64_t slot = number(wc);
  if (slots_.must_post(slot)) post_recycled();
  slots_.add(slot);
}

void Datagrams::post_recycled() {
  if (slots_.empty()) return;
  const uint32_t qp = slots_.waiting_qp();
  ibv_recv_wr* bad = nullptr;
  check(mrc_soft_post_ud_recv(qps_[qp], slots_.take(), &bad), "mrc_soft_post_ud_recv",
        "this is a defect of mrc-perf or the library");
}

}  // namespace mrc::perf
