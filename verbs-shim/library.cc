// Loading and unloading of the library. Loading has no effect on a program without verbs. At exit, pending
// answers to peers are sent. [VRB-INT-2]
#include "objects/context.h"
#include "rdma_cm/service.h"

namespace {

[[gnu::destructor]] void unloaded() {
  mrc::shim::rdma_cm::Service::settle();
  mrc::shim::Context::settle_all();
}

}  // namespace
