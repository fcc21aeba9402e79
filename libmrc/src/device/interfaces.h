// What the configuration needs to know of this host's network interfaces.
#pragma once

#include <string>

#include "base/ip.h"

namespace mrc::device {

// The address that a plane on this interface uses: a global IPv6 address, else an IPv4 address, else a link-local one.
// False when there is none.
bool address_of_interface(const std::string& name, IpAddress* out);
// The interface that has this address, or empty.
std::string interface_of_address(const IpAddress& ip);
// Speed of the network card behind an interface in Gb/s; 0 where there is none (loopback, veth) or the link is down.
// `sysfs`: where the interfaces' files lie.
double card_speed_gbps(const std::string& interface, const std::string& sysfs = "/sys/class/net");
// "eth0, lo": those with an address, for messages.
std::string interface_names();
// Does IPv6 work on loopback?
bool ipv6_loopback_works();

}  // namespace mrc::device
