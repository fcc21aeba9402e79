#include "version.h"

namespace mrc::tools {

const char* version() {
  return MRC_VERSION;
}

}  // namespace mrc::tools
