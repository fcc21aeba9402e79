// Functions without an object: they are here because programs take every symbol from the library that they open by
// path. The real library answers if there is one.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdio>

#include "interpose/export.h"
#include "interpose/real.h"
#include "sysfs/tree.h"

extern "C" {

void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, void* from);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, void* from);
void ibv_copy_path_rec_from_kern(void* to, void* from);
void ibv_copy_path_rec_to_kern(void* to, void* from);
const char* ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, size_t size);
int ibv_dontfork_range(void* base, size_t size);
int ibv_dofork_range(void* base, size_t size);

#define MRC_NAME_OF(type, name)                                                \
  MRC_EXPORT const char* name(type value) {                                    \
    if (auto real = MRC_REAL(name, "IBVERBS_1.1")) return real(value);         \
    static thread_local char text[32];                                         \
    std::snprintf(text, sizeof text, "%s %d", #type, static_cast<int>(value)); \
    return text;                                                               \
  }
MRC_NAME_OF(ibv_node_type, ibv_node_type_str)
MRC_NAME_OF(ibv_port_state, ibv_port_state_str)
MRC_NAME_OF(ibv_event_type, ibv_event_type_str)
MRC_NAME_OF(ibv_wc_status, ibv_wc_status_str)
#undef MRC_NAME_OF

MRC_EXPORT int ibv_fork_init(void) {
  if (auto real = MRC_REAL(ibv_fork_init, "IBVERBS_1.1")) return real();
  return 0;  // no memory is pinned: a fork copies it like all memory
}
MRC_EXPORT ibv_fork_status ibv_is_fork_initialized(void) {
  if (auto real = MRC_REAL(ibv_is_fork_initialized, "IBVERBS_1.13")) return real();
  return IBV_FORK_UNNEEDED;
}
MRC_EXPORT int ibv_dontfork_range(void* base, size_t size) {
  MRC_FORWARD(0, ibv_dontfork_range, "IBVERBS_1.1", base, size);
}
MRC_EXPORT int ibv_dofork_range(void* base, size_t size) {
  MRC_FORWARD(0, ibv_dofork_range, "IBVERBS_1.1", base, size);
}

MRC_EXPORT int ibv_rate_to_mult(ibv_rate rate) {
  MRC_FORWARD(-1, ibv_rate_to_mult, "IBVERBS_1.0", rate);
}
MRC_EXPORT ibv_rate mult_to_ibv_rate(int mult) {
  MRC_FORWARD(IBV_RATE_MAX, mult_to_ibv_rate, "IBVERBS_1.0", mult);
}
MRC_EXPORT int ibv_rate_to_mbps(ibv_rate rate) {
  MRC_FORWARD(-1, ibv_rate_to_mbps, "IBVERBS_1.1", rate);
}
MRC_EXPORT ibv_rate mbps_to_ibv_rate(int mbps) {
  MRC_FORWARD(IBV_RATE_MAX, mbps_to_ibv_rate, "IBVERBS_1.1", mbps);
}

#define MRC_COPY(name, version, to_type)                     \
  MRC_EXPORT void name(to_type* to, void* from) {            \
    if (auto real = MRC_REAL(name, version)) real(to, from); \
  }
MRC_COPY(ibv_copy_ah_attr_from_kern, "IBVERBS_1.1", ibv_ah_attr)
MRC_COPY(ibv_copy_qp_attr_from_kern, "IBVERBS_1.0", ibv_qp_attr)
MRC_COPY(ibv_copy_path_rec_from_kern, "IBVERBS_1.0", void)
MRC_COPY(ibv_copy_path_rec_to_kern, "IBVERBS_1.0", void)
#undef MRC_COPY

MRC_EXPORT const char* ibv_get_sysfs_path(void) {
  MRC_FORWARD("/sys", ibv_get_sysfs_path, "IBVERBS_1.0");
}
// Files of our devices: the answer, without the line's end, as from libibverbs.
MRC_EXPORT int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, size_t size) {
  char path[512];
  std::snprintf(path, sizeof path, "%s/%s", dir, file);
  const int n = mrc::shim::read_answer(path, buf, size);
  if (n >= 0) return n;
  MRC_FORWARD(-1, ibv_read_sysfs_file, "IBVERBS_1.0", dir, file, buf, size);
}

}  // extern "C"
