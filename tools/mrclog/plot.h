// A trace as a picture: self-contained SVG over one time axis: packets by plane, windows, losses and retransmissions by
// their reason, and changes of paths and planes.
#pragma once

#include <string>

#include "log.h"

namespace mrc::log {

std::string draw(const Log& log);

}  // namespace mrc::log
