// The table that the real libibverbs finds in one of our contexts if a function that we do not export is called with
// it, for example a function of a newer rdma-core. Its public functions call through a table in the context's private
// part; in ours every entry sets errno to EOPNOTSUPP and returns 0 or null. [VRB-INT-3]
#pragma once

struct verbs_ex_private;

namespace mrc::shim {

verbs_ex_private* unknown_ops();

}  // namespace mrc::shim
