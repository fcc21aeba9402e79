// `mrcctl ev expand`: expands the EV profiles of a JSON file by the rules of layer ctl, prints them, and compares with
// what the file itself expects. The form of the file: spec/controller.md, "Files of EV profiles".
#pragma once

#include <string>

#include "device.h"

namespace mrcctl {

// Prints text, or with `json` one JSON document. kBad with a sentence on stderr when the file cannot be understood.
int expand_file(const std::string& file, bool json);

}  // namespace mrcctl
