// Faults in registered memory that is gone fail its queue pair. [API-MEM-2]
#pragma once

namespace mrc::api {

// Keeps our handlers of them in front of the program's: in calls that make or use objects, never for data.
void catch_faults();

}  // namespace mrc::api
