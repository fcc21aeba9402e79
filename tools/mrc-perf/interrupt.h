// The first interrupt of the client ends what is being sent, and the run ends well; the second one ends this program.
#pragma once

namespace mrc::perf {

void end_well_when_interrupted();
bool interrupted();

}  // namespace mrc::perf
