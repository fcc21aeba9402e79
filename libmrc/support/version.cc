#include "version.h"

namespace mrc::support {

const char* version() {
  return MRC_VERSION;
}

}  // namespace mrc::support
