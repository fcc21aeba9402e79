#include "render_frr.h"

#include <sstream>

namespace mrc::fabric {
namespace {

constexpr int kLastDistance = 254;  // of routes that catch what nothing else does

void route(const RouteConfig& r, std::ostringstream* out) {
  if (r.kind != RouteKind::kBlackhole && r.kind != RouteKind::kVia) return;
  *out << "! " << r.purpose << "\n";
  if (r.kind == RouteKind::kBlackhole) *out << "ipv6 route " << r.prefix << " blackhole " << kLastDistance << "\n";
  for (const NextHop& h : r.hops) *out << "ipv6 route " << r.prefix << " " << h.via << " " << h.interface << "\n";
}

}  // namespace

std::string render_frr(const FabricSpec& spec, const NodeConfig& node) {
  std::ostringstream out;
  out << "! " << node.name << " of fabric " << spec.name << "\n"
      << "! no routing protocol: timers of the data centre profile only concern what an operator adds\n"
      << "frr defaults datacenter\n"
      << "! the plan's name of the switch\nhostname " << node.name << "\n"
      << "! a switch forwards\nipv6 forwarding\n!\n";
  out << "interface lo\n ! the end of a uSID list that ends here, and the source of ICMP errors\n ipv6 address "
      << node.loopback << "/128\nexit\n!\n";
  for (const InterfaceConfig& i : node.interfaces) {
    out << "interface " << i.name << "\n ! the other end\n description " << i.peer << "\n";
    for (const AddressConfig& a : i.addresses)
      out << " ! this end; next hops of the routes below are the other ends'\n ipv6 address " << a.text << "\n";
    out << "exit\n!\n";
  }
  for (const RouteConfig& r : node.routes) route(r, &out);
  const std::string own = usid_prefix(spec, node.usid);
  out << "!\nsegment-routing\n srv6\n  locators\n   locator MRC\n"
      << "    ! F3216: a block of 32 bits and the switch's own uSID of 16; FRR 8.4 does not know the lengths\n"
      << "    prefix " << own << " block-len 32 node-len 16 func-bits 16\n"
      << "    ! uSIDs instead of whole SIDs; unknown to FRR 8.4\n"
      << "    behavior usid\n   exit\n   !\n  exit\n  !\n"
      << "  ! FRR 10.2 or newer\n  static-sids\n"
      << "   ! shift the uSIDs by one and forward to what the result says\n"
      << "   sid " << own << " locator MRC behavior uN\n  exit\n  !\n exit\n !\nexit\n!\nend\n";
  return out.str();
}

}  // namespace mrc::fabric
