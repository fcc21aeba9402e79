// The filter before a packet socket: of all IPv6 frames on an interface the kernel queues those of this process alone,
// so that processes on one interface do not wake each other, nor fill each other's buffers [MRC-SR-24].
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace mrc::datapath {

// UDP to one of the ports (second_port 0: there is none), plain or behind an SRH, an outer IPv6 header, or both. Frames
// that end before the port are not taken. Addresses are compared by the receiver.
std::vector<sock_filter> frame_filter(uint16_t port, uint16_t second_port);
[[nodiscard]] bool attach_filter(int fd, const std::vector<sock_filter>& code);  // false: errno

}  // namespace mrc::datapath
