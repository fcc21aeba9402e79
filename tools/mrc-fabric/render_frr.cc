#include "render_frr.h"

#include <sstream>

namespace mrc::fabric {
namespace {

constexpr int kLastDistance = 254;  // of routes that catch what nothing else does

void route(const RouteConfig& r, std::ostringstream* out) {
  if (r.kind == RouteKind::kBlackhole) *out << "ipv6 route " << r.prefix << " blackhole " << kLastDistance << "\n";
  if (r.kind != RouteKind::kVia) return;
  for (const NextHop& h : r.hops) *out << "ipv6 route " << r.prefix << " " << h.via << " " << h.interface << "\n";
}

}  // namespace

std::string render_frr(const FabricSpec& spec, const NodeConfig& node) {
  std::ostringstream out;
  out << "! " << node.name << " of fabric " << spec.name << "\nfrr defaults datacenter\nhostname " << node.name
      << "\nipv6 forwarding\n!\n";
  out << "interface lo\n ipv6 address " << node.loopback << "/128\nexit\n!\n";
  for (const InterfaceConfig& i : node.interfaces) {
    out << "interface " << i.name << "\n description " << i.peer << "\n";
    for (const AddressConfig& a : i.addresses) out << " ipv6 address " << a.text << "\n";
    out << "exit\n!\n";
  }
  for (const RouteConfig& r : node.routes) route(r, &out);
  const std::string own = usid_prefix(spec, node.usid);
  out << "!\nsegment-routing\n srv6\n  locators\n   locator MRC\n    prefix " << own
      << " block-len 32 node-len 16 func-bits 16\n    behavior usid\n   exit\n   !\n  exit\n  !\n  static-sids\n   sid "
      << own << " locator MRC behavior uN\n  exit\n  !\n exit\n !\nexit\n!\nend\n";
  return out.str();
}

}  // namespace mrc::fabric
