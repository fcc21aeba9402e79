// Net: a network plugin of any ABI version behind one interface, as a test or NCCL's proxy uses it. Opened with dlopen,
// by the same look-up of symbols as NCCL's. Calls return the plugin's result; sizes are 64 bit here and are narrowed
// where the version has int.
#pragma once

#include <net_abi.h>

#include <memory>
#include <string>
#include <vector>

#include "result.h"

namespace mrc::nccl_net {

#define MRC_NET_VERSION(v) v,
inline constexpr int kVersions[] = {MRC_NET_VERSIONS(MRC_NET_VERSION)};
#undef MRC_NET_VERSION
// "6 to 12", for messages.
std::string version_range();

class Net {
 public:
  virtual ~Net() = default;
  // The library stays open.
  static Result<std::unique_ptr<Net>> open(const std::string& library, int version);

  // The newest version that the library exports, as NCCL chooses it.
  static Result<int> newest(const std::string& library);

  virtual int version() const = 0;
  // Names of the members that NCCL uses without a check and that are null in this table; empty: none. NCCL reads the
  // name and init when it loads the plugin, and the rest once init has returned: init may fill it in.
  virtual std::vector<std::string> missing_before_init() const = 0;
  virtual std::vector<std::string> missing() const = 0;
  virtual const char* name() const = 0;
  // traffic_class only has an effect from version 10 on.
  virtual ncclResult_t init(ncclDebugLogger_t logger, int traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEF) = 0;
  virtual ncclResult_t finalize() = 0;  // ncclSuccess where the version has none
  virtual ncclResult_t devices(int* count) = 0;
  virtual ncclResult_t properties(int device, ncclNetProperties_t* out) = 0;  // members that are missing: zero
  virtual ncclResult_t make_virtual(int* device, const std::vector<int>& members) = 0;
  virtual ncclResult_t set_attributes(int peers, int flows) = 0;
  virtual ncclResult_t listen(int device, void* handle, void** comm) = 0;
  virtual ncclResult_t connect(int device, void* handle, void** comm) = 0;
  virtual ncclResult_t accept(void* listen_comm, void** comm) = 0;
  virtual ncclResult_t reg(void* comm, void* data, size_t size, int type, void** memory) = 0;
  virtual ncclResult_t reg_dma_buf(void* comm, void* data, size_t size, uint64_t offset, int fd, void** memory) = 0;
  virtual ncclResult_t dereg(void* comm, void* memory) = 0;
  virtual ncclResult_t isend(void* comm, void* data, size_t size, int tag, void* memory, void** request) = 0;
  virtual ncclResult_t irecv(void* comm, int n, void** data, const size_t* sizes, int* tags, void** memory,
                             void** request) = 0;
  virtual ncclResult_t iflush(void* comm, int n, void** data, int* sizes, void** memory, void** request) = 0;
  virtual ncclResult_t test(void* request, int* done, int* sizes) = 0;
  // NCCL's report that a finished receive was copied from its buffers: sent if the table has the function,
  // for any type of network. ncclSuccess where it is null or the version has none.
  virtual ncclResult_t irecv_consumed(void* comm, int n, void* request) = 0;
  virtual ncclResult_t close_send(void* comm) = 0;
  virtual ncclResult_t close_recv(void* comm) = 0;
  virtual ncclResult_t close_listen(void* comm) = 0;
};

}  // namespace mrc::nccl_net
