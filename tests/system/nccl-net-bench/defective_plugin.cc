// libnccl-net-defective.so, ABI v10: the TCP plugin, strict about its caller, with one defect, chosen by
// MRC_NET_DEFECT. Each is a mistake that a plugin's author can make; nccl-net-bench must find every one, and name the
// rule. Without a defect it must find none, nor when the table is filled in by init ("late"), which is none.
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "versions.h"

namespace {

using namespace mrc::tcp_net;

ncclNet_v10_t good = make_table<10, ncclNet_v10_t, ncclNetProperties_v10_t>();

bool has(const char* defect) {
  static const char* const chosen = getenv("MRC_NET_DEFECT");
  return chosen != nullptr && strcmp(chosen, defect) == 0;
}

ncclResult_t bad_listen(int device, void* handle, void** comm) {
  const ncclResult_t result = good.listen(device, handle, comm);
  if (has("handle-overrun")) static_cast<char*>(handle)[NCCL_NET_HANDLE_MAXSIZE] = 1;
  if (has("leak") && dup(0) < 0) return ncclSystemError;
  return result;
}

ncclResult_t bad_accept(void* listen_comm, void** comm, ncclNetDeviceHandle_v7_t** device) {
  ncclResult_t result;
  do result = good.accept(listen_comm, comm, device);
  while (has("blocking-accept") && result == ncclSuccess && *comm == nullptr && poll(nullptr, 0, 1) == 0);
  return result;
}

ncclResult_t bad_properties(int device, ncclNetProperties_v10_t* out) {
  const ncclResult_t result = good.getProperties(device, out);
  if (has("many-members")) out->vProps.ndevs = 1 << 20;
  return result;
}

ncclResult_t bad_isend(void* comm, void* data, size_t size, int tag, void* memory, void* profiler, void** request) {
  const ncclResult_t result = good.isend(comm, data, size, tag, memory, profiler, request);
  if (has("send-needs-receive") && result == ncclSuccess && *request == nullptr) return ncclInternalError;
  return result;
}

ncclResult_t bad_irecv(void* comm, int n, void** data, size_t* sizes, int* tags, void** memory, void** profilers,
                       void** request) {
  if (has("few-requests")) {
    int used = 0;
    for (const Request& r : static_cast<Comm*>(comm)->requests) used += r.comm != nullptr;
    if (used >= 16) return ncclInternalError;
  }
  if (has("ignores-tags")) {
    int sorted[kMaxGroup];
    for (int i = 0; i < n; ++i) sorted[i] = tags[n - 1 - i];
    return good.irecv(comm, n, data, sizes, sorted, memory, profilers, request);
  }
  return good.irecv(comm, n, data, sizes, tags, memory, profilers, request);
}

ncclResult_t bad_test(void* request, int* done, int* sizes) {
  Request copy = *static_cast<Request*>(request);
  const ncclResult_t result = good.test(request, done, sizes);
  if (has("silent-death") && result != ncclSuccess) return *done = 0, ncclSuccess;
  if (result != ncclSuccess || !*done || copy.is_send) return result;
  if (has("posted-size") && sizes != nullptr) sizes[0] = static_cast<int>(copy.capacity[0]);
  if (has("corrupts") && copy.capacity[0] > 60000) copy.data[0][copy.capacity[0] / 2] ^= 1;
  return result;
}

// As a plugin does that looks into the communicator: memory is registered and released while it lives.
std::map<void*, void*> registered;  // memory by address of the token

ncclResult_t strict_reg(void* comm, void* data, size_t size, int type, void** memory) {
  const ncclResult_t result = good.regMr(comm, data, size, type, memory);
  if (result == ncclSuccess) registered[*memory = new char] = comm;
  return result;
}

ncclResult_t strict_dereg(void* comm, void* memory) {
  const auto found = registered.find(memory);
  if (found == registered.end() || found->second != comm) return ncclInvalidUsage;
  delete static_cast<char*>(memory);
  registered.erase(found);
  return ncclSuccess;
}

ncclResult_t strict_close(void* comm) {
  for (const auto& [memory, of] : registered)
    if (of == comm) return ncclInvalidUsage;
  return good.closeSend(comm);
}

ncclResult_t bad_consumed(void*, int, void*) {
  return has("refuses-consumed") ? ncclInvalidUsage : ncclSuccess;
}

ncclResult_t warning_init(ncclDebugLogger_t logger, ncclProfilerCallback_t) {
  logger(NCCL_LOG_WARN, NCCL_NET, __FILE__, __LINE__, "there is no card");
  return ncclSystemError;
}

ncclResult_t filling_init(ncclDebugLogger_t logger, ncclProfilerCallback_t profiler);

ncclNet_v10_t defective() {
  ncclNet_v10_t t = good;
  t.name = "defective";
  t.getProperties = bad_properties;
  t.listen = bad_listen;
  t.accept = bad_accept;
  t.isend = bad_isend;
  t.irecv = bad_irecv;
  t.test = bad_test;
  t.regMr = strict_reg;
  t.deregMr = strict_dereg;
  t.closeSend = t.closeRecv = strict_close;
  t.irecvConsumed = bad_consumed;
  if (has("no-flush") || has("late-no-flush")) t.iflush = nullptr;
  if (has("warns")) t.init = warning_init;
  return t;
}

// As a plugin begins that fills in its table in init.
ncclNet_v10_t before_init() {
  if (!has("late") && !has("late-no-flush") && !has("no-init")) return defective();
  ncclNet_v10_t t{};
  t.name = "defective";
  if (!has("no-init")) t.init = filling_init;
  return t;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) ncclNet_v10_t ncclNetPlugin_v10 = before_init();
}

namespace {

ncclResult_t filling_init(ncclDebugLogger_t logger, ncclProfilerCallback_t profiler) {
  const ncclResult_t result = good.init(logger, profiler);
  if (result == ncclSuccess) ncclNetPlugin_v10 = defective();
  return result;
}

}  // namespace
