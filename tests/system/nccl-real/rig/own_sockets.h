// The sockets that NCCL itself has made. It leaves some of them open when an init is aborted, over its own transport as
// well, and they are not to be counted as the plugin's.
#pragma once

namespace mrc::nccl_rig {

// Descriptors that are open in this process, less the sockets of libnccl. Thread-safe.
long descriptors_beside_nccl();

}  // namespace mrc::nccl_rig
