// This host's network interfaces, as required by the configuration.
#pragma once

#include <optional>
#include <string>

#include "base/ip.h"

namespace mrc::device {

// The address of a plane on this interface: a global IPv6 address, else an IPv4 address, else a link-local one.
std::optional<IpAddress> address_of_interface(const std::string& name);
// The interface that has this address, or empty.
std::string interface_of_address(const IpAddress& ip);
// Speed of the network card behind an interface in Gb/s; 0 where there is none (loopback, veth) or the link is down.
// `sysfs`: the folder with the interfaces' files.
double card_speed_gbps(const std::string& interface, const std::string& sysfs = "/sys/class/net");
// "eth0, lo": those with an address, for messages.
std::string interface_names();
// True if IPv6 works on loopback.
bool ipv6_loopback_works();

}  // namespace mrc::device
