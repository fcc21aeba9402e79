// The table that the real libibverbs finds in one of our contexts if one of its own functions is called with it: one
// that we do not export, as of a newer rdma-core, or one that the program has taken from libibverbs itself. Its public
// functions call through a table in the context's private part; in ours every entry sets errno to EOPNOTSUPP and
// returns 0 or null. [VRB-INT-3]
//
// Entries that serve the calls would not be enough: the order of the table differs between releases, and
// ibv_query_gid and ibv_query_pkey ask the kernel by the context's descriptor and sysfs instead. [VRB-INT-5]
#pragma once

struct verbs_ex_private;

namespace mrc::shim {

verbs_ex_private* unknown_ops();

}  // namespace mrc::shim
