// Sending half of a plane: headers and payload into one packet buffer, checksum, next hop.
#include <rte_ether.h>
#include <rte_ip.h>

#include <cerrno>

#include "datapath/burst_parts.h"
#include "datapath/dpdk/module/plane.h"
#include "datapath/frame/checksum.h"
#include "wire/bytes.h"

namespace mrc::datapath {

namespace {

constexpr uint8_t kNextUdp = 17;
constexpr uint16_t kStandardPort = 4791;

}  // namespace

void DpdkPlane::discard() {
  release();
  for (rte_mbuf* frame : waiting_) rte_pktmbuf_free(frame);
  waiting_.clear();
  for (auto& [next, frames] : held_)
    for (rte_mbuf* frame : frames) rte_pktmbuf_free(frame);
  held_.clear();
  while (inbox_at_ < inbox_.size()) rte_pktmbuf_free(inbox_[inbox_at_++].frame);
}

// Where the kernel has the address too (af_packet and the like) [MRC-SR-21], its ports are held as the raw datapath
// does: several processes share the interface then, each with a process slot. Otherwise the process owns the port.
Status DpdkPlane::open(const HostPlane& plane, const Gateway& gateway, const Port::Wanted& wanted) {
  if (plane.addr.is_v4())
    return Error{EAFNOSUPPORT, "the DPDK datapath needs IPv6, the address is " + plane.addr.to_string()};
  own_ = plane.addr;
  gateway_ = gateway;
  checksum_ = wanted.checksum;
  udp_port_ = plane.port != 0 ? plane.port : kStandardPort;
  second_port_ = plane.second_port;
  if (!interface_of(own_).name.empty()) {
    held_ports_ = std::make_unique<HeldPorts>();
    if (Status held = held_ports_->open(plane); !held) return held;
    udp_port_ = held_ports_->port();
    second_port_ = held_ports_->second_port();
  }
  return port_.open(wanted);
}

bool DpdkPlane::send(Instant now, const core::TxBurst& packet, const wire::Flow& flow, const SegmentPath& path,
                     rte_mbuf* staged, DatapathCounters* counters) {
  if (!has_room()) flush();
  if (!has_room()) return false;
  rte_mbuf* frame = staged != nullptr ? staged : port_.allocate();
  if (frame == nullptr) return false;
  if (!build(packet, flow, path, staged != nullptr, frame)) {
    rte_pktmbuf_free(frame);
    ++counters->tx_errors;
    return true;
  }
  ++counters->tx_packets;
  counters->tx_bytes += packet.bytes;
  if (path.destination == own_) {  // no port returns it
    if (!keep(now, frame, counters)) rte_pktmbuf_free(frame);
    return true;
  }
  if (gateway_.kind == Gateway::Kind::kNone)
    to_neighbour(now, path.destination, frame, counters);
  else
    to_neighbour(now, gateway_.address, frame, counters);
  return true;
}

bool DpdkPlane::build(const core::TxBurst& packet, const wire::Flow& flow, const SegmentPath& path, bool staged,
                      rte_mbuf* out) {
  write_header(flow, path, packet.bytes, &header_);
  static_assert(kMaxFrameHeader <= RTE_PKTMBUF_HEADROOM);
  char* p = rte_pktmbuf_append(out, static_cast<uint16_t>(packet.bytes));
  if (p != nullptr) p = rte_pktmbuf_prepend(out, static_cast<uint16_t>(header_.length));
  if (p == nullptr) {
    if (first_error_.empty()) first_error_ = "a packet of " + std::to_string(packet.bytes) + " bytes is too long";
    return false;
  }
  auto* bytes = reinterpret_cast<uint8_t*>(p);
  std::copy_n(header_.bytes.data(), header_.length, bytes);
  if (!staged) flatten(packet, bytes + header_.length);
  if (checksum_) put_checksum(flow, path, kUdpBytes + packet.bytes, out);
  return true;
}

// [MRC-SR-19] Addresses that the checksum covers are those of the inner header, so that it is correct wherever the path
// leads. Ports differ in their handling of an outer header: the checksum of those packets is computed here.
void DpdkPlane::put_checksum(const wire::Flow& flow, const SegmentPath& path, uint32_t udp_bytes, rte_mbuf* out) const {
  uint8_t* udp = rte_pktmbuf_mtod_offset(out, uint8_t*, header_.length - kUdpBytes);
  if (port_.computes_checksums() && !path.has_segment && path.destination == flow.dst) {
    out->ol_flags |= RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;
    out->l2_len = kEthernetBytes;
    out->l3_len = kIpv6Bytes;
    const uint16_t pseudo =
        rte_ipv6_phdr_cksum(rte_pktmbuf_mtod_offset(out, rte_ipv6_hdr*, kEthernetBytes), out->ol_flags);
    std::memcpy(udp + 6, &pseudo, sizeof(pseudo));
    return;
  }
  const uint16_t sum = ipv6_checksum(flow.src, flow.dst, kNextUdp, udp, udp_bytes);
  wire::put16(udp + 6, sum != 0 ? sum : 0xFFFF);
}

void DpdkPlane::to_neighbour(Instant now, const IpAddress& next, rte_mbuf* frame, DatapathCounters* counters) {
  auto* ethernet = rte_pktmbuf_mtod(frame, uint8_t*);
  std::copy_n(port_.mac().begin(), 6, ethernet + 6);
  if (gateway_.kind == Gateway::Kind::kMac) {
    std::copy_n(gateway_.mac.begin(), 6, ethernet);
    return to_port(frame);
  }
  const Neighbours::Answer hop = neighbours_.find(next, now);
  if (hop.solicit) solicit(next);
  if (hop.found == Neighbours::Found::kKnown) {
    std::copy_n(hop.mac.begin(), 6, ethernet);
    return to_port(frame);
  }
  std::vector<rte_mbuf*>& held = held_[next];
  held.push_back(frame);
  if (hop.found == Neighbours::Found::kAbsent) return drop_held(next, counters);
  if (held.size() <= kMaxHeld) return;
  rte_pktmbuf_free(held.front());
  held.erase(held.begin());
  ++counters->tx_errors;
}

void DpdkPlane::drop_held(const IpAddress& next, DatapathCounters* counters) {
  const auto found = held_.find(next);
  if (found == held_.end()) return;
  counters->tx_errors += found->second.size();
  for (rte_mbuf* frame : found->second) rte_pktmbuf_free(frame);
  held_.erase(found);
  if (first_error_.empty()) first_error_ = "no neighbour answers for " + next.to_string();
}

void DpdkPlane::solicit_again(Instant now, DatapathCounters* counters) {
  for (auto at = held_.begin(); at != held_.end();) {
    const IpAddress next = (at++)->first;
    const Neighbours::Answer hop = neighbours_.find(next, now);
    if (hop.solicit) solicit(next);
    if (hop.found == Neighbours::Found::kAbsent) drop_held(next, counters);
  }
}

void DpdkPlane::learn(Instant now, const IpAddress& next, const MacAddress& mac) {
  neighbours_.learn(next, mac, now);
  const auto found = held_.find(next);
  if (found == held_.end()) return;
  for (rte_mbuf* frame : found->second) {
    std::copy_n(mac.begin(), 6, rte_pktmbuf_mtod(frame, uint8_t*));
    to_port(frame);
  }
  held_.erase(found);
}

void DpdkPlane::solicit(const IpAddress& next) {
  NeighbourFrame message;
  write_solicitation(own_, port_.mac(), next, &message);
  send_message(message);
}

void DpdkPlane::answer(const NeighbourMessage& query, const MacAddress& requester) {
  NeighbourFrame message;
  write_advertisement(own_, port_.mac(), query, requester, &message);
  send_message(message);
}

void DpdkPlane::send_message(const NeighbourFrame& message) {
  rte_mbuf* frame = port_.allocate();
  if (frame == nullptr) return;  // it is solicited again
  std::copy(message.begin(), message.end(),
            reinterpret_cast<uint8_t*>(rte_pktmbuf_append(frame, static_cast<uint16_t>(message.size()))));
  to_port(frame);
}

void DpdkPlane::flush() {
  if (waiting_.empty()) return;
  const auto count = static_cast<uint16_t>(std::min<size_t>(waiting_.size(), UINT16_MAX));
  const uint16_t sent = port_.send(waiting_.data(), count);
  waiting_.erase(waiting_.begin(), waiting_.begin() + sent);
}

}  // namespace mrc::datapath
