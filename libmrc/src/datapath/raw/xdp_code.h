// The XDP program of the raw datapath, as instructions: frames of one plane's MRC packets go to the AF_XDP socket of
// their receive queue, all other frames pass on to the kernel unchanged [MRC-SR-22].
//
// Written as instructions rather than compiled from C: it is short, and the build requires no BPF compiler or library.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "base/ip.h"

namespace mrc::datapath {

// For UDP to one of the ports (second_port 0: there is none) at that address, plain, or with an outer IPv6 header to
// the same address, with or without an SRH of which no segment is left. `sockets`: descriptor of the map from queue to
// socket.
std::vector<bpf_insn> xdp_code(const IpAddress& address, uint16_t port, uint16_t second_port, int sockets);

}  // namespace mrc::datapath
