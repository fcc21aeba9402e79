// The XDP program of the raw datapath, as instructions: frames of one plane's MRC packets go to the AF_XDP socket of
// the queue they came in by, everything else goes on to the kernel as if nothing were here [MRC-SR-22].
//
// Written as instructions rather than compiled from C: it is short, and nobody needs a BPF compiler or library.
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
