#include "datapath/udp/source_rules.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "fd.h"

namespace mrc::datapath {

namespace {

struct RuleQuery {
  nlmsghdr header{};
  fib_rule_hdr rule{};
};

void add_range(const nlmsghdr* message, std::vector<PortRange>* out) {
  if (message->nlmsg_type != RTM_NEWRULE || message->nlmsg_len < NLMSG_LENGTH(sizeof(fib_rule_hdr))) return;
  const auto* first = reinterpret_cast<const rtattr*>(static_cast<const uint8_t*>(NLMSG_DATA(message)) +
                                                      NLMSG_ALIGN(sizeof(fib_rule_hdr)));
  int left = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof(fib_rule_hdr)));
  for (const rtattr* a = first; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (a->rta_type != FRA_SPORT_RANGE || RTA_PAYLOAD(a) < sizeof(fib_rule_port_range)) continue;
    fib_rule_port_range range;
    std::memcpy(&range, RTA_DATA(a), sizeof(range));
    out->push_back({range.start, range.end});
  }
}

// True: more of the answer follows.
bool read_answer(int fd, std::vector<PortRange>* out) {
  alignas(nlmsghdr) std::array<uint8_t, 32768> answer;
  const ssize_t n = ::recv(fd, answer.data(), answer.size(), MSG_DONTWAIT);
  if (n <= 0) return false;
  int left = static_cast<int>(n);
  for (const auto* m = reinterpret_cast<const nlmsghdr*>(answer.data()); NLMSG_OK(m, static_cast<uint32_t>(left));
       m = NLMSG_NEXT(m, left)) {
    if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR) return false;
    add_range(m, out);
  }
  return true;
}

}  // namespace

std::vector<PortRange> source_port_rules() {
  std::vector<PortRange> rules;
  const Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  RuleQuery query;
  query.header.nlmsg_len = sizeof(query);
  query.header.nlmsg_type = RTM_GETRULE;
  query.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  query.rule.family = AF_INET6;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (!fd || ::sendto(fd.get(), &query, sizeof(query), 0, reinterpret_cast<sockaddr*>(&kernel), sizeof(kernel)) < 0)
    return rules;
  // The kernel makes the next part of a dump while the one before it is read.
  while (read_answer(fd.get(), &rules)) {
  }
  return rules;
}

std::string missing_rule(const std::vector<PortRange>& rules, const PortRange& ports, uint32_t parts) {
  for (uint32_t n = 0; n < parts; ++n) {
    const PortRange part = ports.part(n, parts);
    if (std::any_of(rules.begin(), rules.end(),
                    [&](const PortRange& rule) { return rule.contains(part.first) && rule.contains(part.last); }))
      continue;
    const std::string range = std::to_string(part.first) + "-" + std::to_string(part.last);
    return "no routing rule applies to UDP source ports " + range + ", those of path " + std::to_string(n + 1) +
           " of " + std::to_string(parts) + ": packets go where the main table sends them (ip -6 rule add sport " +
           range + " ...; mrc-fabric render --linux writes rules and routes)";
  }
  return "";
}

}  // namespace mrc::datapath
