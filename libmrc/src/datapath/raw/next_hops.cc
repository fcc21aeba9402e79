#include "datapath/raw/next_hops.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace mrc::datapath {

namespace {

// A request with address attributes behind its fixed part.
template <typename Fixed>
struct NetlinkQuery {
  nlmsghdr header{};
  Fixed fixed{};
  std::array<uint8_t, 64> attributes{};
  uint32_t attribute_bytes = 0;

  void add(uint16_t type, const void* value, uint16_t size) {
    auto* a = reinterpret_cast<rtattr*>(attributes.data() + attribute_bytes);
    a->rta_type = type;
    a->rta_len = static_cast<uint16_t>(RTA_LENGTH(size));
    std::memcpy(RTA_DATA(a), value, size);
    attribute_bytes += RTA_ALIGN(a->rta_len);
  }
  uint32_t length() const { return NLMSG_LENGTH(sizeof(Fixed)) + attribute_bytes; }
};
static_assert(sizeof(rtmsg) % NLMSG_ALIGNTO == 0 && sizeof(ndmsg) % NLMSG_ALIGNTO == 0);

// The first attribute of a type, or null.
const rtattr* attribute(const rtattr* first, uint32_t bytes, uint16_t type, uint16_t min) {
  int left = static_cast<int>(bytes);
  for (const rtattr* a = first; RTA_OK(a, left); a = RTA_NEXT(a, left))
    if (a->rta_type == type && RTA_PAYLOAD(a) >= min) return a;
  return nullptr;
}

}  // namespace

Status NextHops::open(uint32_t interface) {
  interface_ = interface;
  socket_ = Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket_) return failed_call("rtnetlink");
  return {};
}

// The kernel answers such requests before sendto returns.
bool NextHops::request(void* message, uint32_t length, uint16_t answer_type) {
  auto* header = static_cast<nlmsghdr*>(message);
  header->nlmsg_len = length;
  header->nlmsg_flags = NLM_F_REQUEST;
  header->nlmsg_seq = ++sequence_;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket_.get(), message, length, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&kernel), sizeof(kernel)) < 0)
    return false;
  for (;;) {
    const ssize_t n = ::recv(socket_.get(), answer_.data(), answer_.size(), MSG_DONTWAIT);
    if (n < static_cast<ssize_t>(sizeof(nlmsghdr))) return false;
    const auto* answer = reinterpret_cast<const nlmsghdr*>(answer_.data());
    if (answer->nlmsg_seq != sequence_) continue;  // late answer to an abandoned request
    answer_length_ = std::min(answer->nlmsg_len, static_cast<uint32_t>(n));
    return answer->nlmsg_type == answer_type;
  }
}

std::optional<IpAddress> NextHops::route(const IpAddress& to) {
  NetlinkQuery<rtmsg> query;
  query.header.nlmsg_type = RTM_GETROUTE;
  query.fixed.rtm_family = AF_INET6;
  query.fixed.rtm_dst_len = 128;
  query.add(RTA_DST, to.bytes.data(), 16);
  query.add(RTA_OIF, &interface_, sizeof(interface_));
  if (!request(&query, query.length(), RTM_NEWROUTE) || answer_length_ < NLMSG_LENGTH(sizeof(rtmsg)))
    return std::nullopt;
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer_.data());
  const auto* fixed = static_cast<const rtmsg*>(NLMSG_DATA(header));
  const rtattr* first = RTM_RTA(fixed);
  const uint32_t bytes = answer_length_ - NLMSG_LENGTH(sizeof(rtmsg));
  const rtattr* out = attribute(first, bytes, RTA_OIF, sizeof(uint32_t));
  uint32_t by = 0;
  if (out != nullptr) std::memcpy(&by, RTA_DATA(out), sizeof(by));
  if (fixed->rtm_type != RTN_UNICAST || by != interface_) return std::nullopt;
  const rtattr* gateway = attribute(first, bytes, RTA_GATEWAY, 16);
  IpAddress via = to;
  if (gateway != nullptr) std::memcpy(via.bytes.data(), RTA_DATA(gateway), 16);
  return via;
}

std::optional<MacAddress> NextHops::neighbour(const IpAddress& next) {
  NetlinkQuery<ndmsg> query;
  query.header.nlmsg_type = RTM_GETNEIGH;
  query.fixed.ndm_family = AF_INET6;
  query.fixed.ndm_ifindex = static_cast<int>(interface_);
  query.add(NDA_DST, next.bytes.data(), 16);
  if (!request(&query, query.length(), RTM_NEWNEIGH) || answer_length_ < NLMSG_LENGTH(sizeof(ndmsg)))
    return std::nullopt;
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer_.data());
  const auto* fixed = static_cast<const ndmsg*>(NLMSG_DATA(header));
  const auto* first = reinterpret_cast<const rtattr*>(reinterpret_cast<const uint8_t*>(fixed) + sizeof(ndmsg));
  const rtattr* link = attribute(first, answer_length_ - NLMSG_LENGTH(sizeof(ndmsg)), NDA_LLADDR, 6);
  // Stale ones are left to the kernel, which solicits them again when it sends.
  if (link == nullptr || (fixed->ndm_state & (NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP | NUD_DELAY | NUD_PROBE)) == 0)
    return std::nullopt;
  MacAddress mac;
  std::memcpy(mac.data(), RTA_DATA(link), mac.size());
  return mac;
}

const MacAddress* NextHops::find(const IpAddress& to, Instant now) {
  if (hops_.size() >= kMaxHops) hops_.clear();
  Hop& hop = hops_[to];
  if (now >= hop.until) {
    const std::optional<IpAddress> via = route(to);
    hop.mac = via ? neighbour(*via) : std::nullopt;
    hop.until = now + (hop.mac ? kKnownFor : kUnknownFor);
  }
  return hop.mac ? &*hop.mac : nullptr;
}

}  // namespace mrc::datapath
