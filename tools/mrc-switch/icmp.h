// The one thing that a switch says itself: ICMPv6 "time exceeded" (RFC 4443, section 3.3), for traceroute.
#pragma once

#include "frame.h"

namespace mrc::softswitch {

// Turns the frame into the answer to its source, with hop limit 64. False: none may be given, because the packet is
// an ICMPv6 error itself or has no source to answer to.
bool make_time_exceeded(Frame* f, const IpAddress& from, uint32_t capacity);

}  // namespace mrc::softswitch
