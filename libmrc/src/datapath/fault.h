// MRC_FAULT: a decorator that injects faults into a datapath's packets, at random from a seed. Each process has its
// own, so both directions of a connection are covered by setting it at both ends.
//
// Grammar (blanks around any token are ignored):
//   spec    := clause (';' clause)*
//   clause  := "seed=" N | [scope ':'] action (',' action)*
//   scope   := ("plane=" | "ev=") (N | N '-' N | '*')      plane 1..n as users count them, ev = index in the EV table;
//                                                          no scope: every packet
//   action  := "loss=" P | "burstloss=" P '/' N            N packets in a row, starting with probability P
//            | "dup=" P | "reorder=" P | "delay=" D ['/' D]  fixed delay [and uniform jitter up to the second]
//            | "corrupt=" P | "ecn=" P | "trim=" P | "blackhole"
//              each optionally followed by '@' D '-' [D]   only from the first to the second time, counted from the
//                                                          first burst sent by this process
//   P probability 0..1 (1e-6 is fine), N whole number, D time with unit ns, us, ms or s.
// corrupt flips one bit of the packet, reorder lets one to four later bursts overtake it, trim cuts the payload after
// the extension headers and sets the TRIMMED code point.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/config.h"
#include "datapath/datapath.h"
#include "result.h"

namespace mrc::datapath {

struct FaultPlan;

// EINVAL with "position N: expected ..., got ..." when the text does not follow the grammar.
Result<std::shared_ptr<const FaultPlan>> parse_fault(const std::string& text);

// The grammar with examples, for --help.
const char* fault_help();

// Wraps `inner`. `dscp` gives the code point that trimming sets.
std::unique_ptr<Datapath> make_fault_datapath(std::unique_ptr<Datapath> inner, std::shared_ptr<const FaultPlan> plan,
                                              const core::DscpConfig& dscp);

}  // namespace mrc::datapath
