#include "plugin.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "connect.h"
#include "listen.h"
#include "log.h"
#include "mutex.h"
#include "profile.h"

namespace mrc::nccl {

namespace {

template <typename Body>
ncclResult_t guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& e) {
    NET_WARN("%s", e.what());
    return ncclSystemError;
  }
}

Mutex process_context_mutex;

// For ABI versions without contexts. Never freed: connections and late callers may refer to it until the end.
std::shared_ptr<Context>& process_context() ABSL_EXCLUSIVE_LOCKS_REQUIRED(process_context_mutex) {
  static auto* const context = new std::shared_ptr<Context>();
  return *context;
}

// The object of NCCL's void* of a context.
using ContextHandle = std::shared_ptr<Context>;

std::shared_ptr<Context> context_of(void* handle) {
  if (handle != nullptr) return *static_cast<ContextHandle*>(handle);
  const MutexLock lock(process_context_mutex);
  return process_context();
}

Connection* connection(void* comm) {
  return static_cast<Connection*>(comm);
}

ncclResult_t bad_device(int number) {
  NET_WARN("There is no device %d", number);
  return ncclInvalidArgument;
}

}  // namespace

void use_profiler(ncclProfilerCallback_t profiler) {
  set_profiler(profiler);
}

ncclResult_t init_process(ncclDebugLogger_t logger) {
  return guarded([&] {
    set_logger(logger);
    auto process = Process::acquire();
    if (process == nullptr) return ncclSystemError;
    const MutexLock lock(process_context_mutex);
    if (process_context() == nullptr) {
      auto made = std::make_shared<Context>();
      made->process = std::move(process);
      process_context() = std::move(made);
    } else {
      Process::release();
    }
    return ncclSuccess;
  });
}

ncclResult_t init_context(void** context, int traffic_class, ncclDebugLogger_t logger) {
  *context = nullptr;  // NCCL passes this value back when init fails
  return guarded([&] {
    set_logger(logger);
    auto process = Process::acquire();
    if (process == nullptr) return ncclSystemError;
    auto made = std::make_shared<Context>();
    made->process = std::move(process);
    made->traffic_class = traffic_class;
    *context = new ContextHandle(std::move(made));
    return ncclSuccess;
  });
}

ncclResult_t finalize(void* context) {
  return guarded([&] {
    if (context == nullptr) return ncclSuccess;
    auto* const handle = static_cast<ContextHandle*>(context);
    (*handle)->attempts.clear();
    (*handle)->listeners.end_all();
    delete handle;
    Process::release();
    return ncclSuccess;
  });
}

ncclResult_t set_attributes(void* context, const ncclNetAttr_t& attributes) {
  return guarded([&] {
    const auto known = context_of(context);
    if (known == nullptr) return ncclInvalidUsage;
    // Values below zero, such as NCCL_NET_ID_UNDEF, mean unknown for NCCL, too.
    auto keep = [](std::atomic<int>& to, int value) { to = std::max(value, 0); };
    keep(known->send_peers, attributes.sendCommAttr.maxConcurrentPeers);
    keep(known->recv_peers, attributes.recvCommAttr.maxConcurrentPeers);
    keep(known->send_flows, attributes.sendCommAttr.maxFlowsPerPeer);
    keep(known->recv_flows, attributes.recvCommAttr.maxFlowsPerPeer);
    return ncclSuccess;
  });
}

ncclResult_t devices(int* count) {
  return guarded([&] {
    const auto process = Process::current();
    if (process == nullptr) return ncclInvalidUsage;
    *count = process->devices.count();
    return ncclSuccess;
  });
}

ncclResult_t properties(int number, ncclNetProperties_t* out) {
  return guarded([&] {
    const auto process = Process::current();
    if (process == nullptr) return ncclInvalidUsage;
    const Devices& all = process->devices;
    if (!all.valid(number)) return bad_device(number);
    const VirtualDevice& joined = all.virtual_device(number);
    const Device& first = all.member(number, 0);
    *out = {};
    out->name = const_cast<char*>(joined.name.c_str());
    out->pciPath = first.pci_path.empty() ? nullptr : const_cast<char*>(first.pci_path.c_str());
    out->guid = first.guid;
    out->ptrSupport = NCCL_PTR_HOST;
    if (process->gdr != nullptr) out->ptrSupport |= NCCL_PTR_CUDA;
    if (process->maps_dma_bufs) out->ptrSupport |= NCCL_PTR_CUDA | NCCL_PTR_DMABUF;
    out->regIsGlobal = 1;
    out->port = 1;
    out->maxComms = first.max_qps;
    for (size_t m = 0; m < joined.members.size(); ++m) {
      const Device& d = all.member(number, static_cast<int>(m));
      out->speed += d.speed_mbps;
      out->latency = std::max(out->latency, static_cast<float>(d.latency_us));
      out->maxComms = std::min(out->maxComms, d.max_qps);
      out->vProps.devs[m] = joined.members[m];
    }
    out->maxComms = std::max(1, out->maxComms / static_cast<int>(process->settings.qps));
    out->maxRecvs = kMaxRecvs;
    out->netDeviceType = NCCL_NET_DEVICE_HOST;
    out->netDeviceVersion = NCCL_NET_DEVICE_INVALID_VERSION;
    out->vProps.ndevs = static_cast<int>(joined.members.size());
    out->maxP2pBytes = out->maxCollBytes = kLargestMessage;
    out->maxMultiRequestSize = 1;
    // Device i of one host is cabled like device i of the others; within a device MRC uses all planes.
    out->railId = static_cast<int16_t>(joined.members.size() == 1 ? joined.members[0] : NCCL_NET_ID_UNDEF);
    out->planeId = NCCL_NET_ID_UNDEF;
    return ncclSuccess;
  });
}

ncclResult_t make_virtual(int* number, const int* members, int count) {
  return guarded([&] {
    const auto process = Process::current();
    if (process == nullptr) return ncclInvalidUsage;
    if (count < 1 || count > kMaxMembers) return ncclInvalidUsage;
    // NCCL 2.28.9 places the virtual device at its members' PCI function. Without one it would lose the device, and as
    // it considers devices without one ports of one card and joins them, the job would be without a network.
    if (process->settings.join_without_pci == 0 && !process->devices.have_pci_paths({members, members + count})) {
      NET_INFO("Devices without a PCI path are not joined (NCCL_MRC_JOIN_WITHOUT_PCI)");
      return ncclInvalidUsage;
    }
    const int made = process->devices.make_virtual({members, members + count});
    if (made < 0) {
      NET_WARN("Virtual device of %d members: each must be another single device", count);
      return ncclInvalidUsage;
    }
    NET_INFO("Made virtual device %d: %s", made, process->devices.virtual_device(made).name.c_str());
    *number = made;
    return ncclSuccess;
  });
}

ncclResult_t listen(void* context, int number, void* handle, void** listen_comm) {
  return guarded([&] {
    *listen_comm = nullptr;
    const auto known = context_of(context);
    if (known == nullptr) return ncclInvalidUsage;
    if (!known->process->devices.valid(number)) return bad_device(number);
    *listen_comm = Listener::make(known, number, handle).release();
    return *listen_comm != nullptr ? ncclSuccess : ncclSystemError;
  });
}

ncclResult_t connect(void* context, int number, int traffic_class, void* handle, void** send_comm) {
  return guarded([&] {
    *send_comm = nullptr;
    const auto known = context_of(context);
    if (known == nullptr) return ncclInvalidUsage;
    if (!known->process->devices.valid(number)) return bad_device(number);
    const int wanted = traffic_class_of(*known, traffic_class);
    if (wanted < 0 || wanted > kMaxTrafficClass) {
      NET_WARN("Traffic class %d of the communicator is not in 0..%d", wanted, kMaxTrafficClass);
      return ncclInvalidArgument;
    }
    SendComm* made = nullptr;
    const ncclResult_t result = connect_step(known, number, wanted, handle, &made);
    *send_comm = static_cast<Connection*>(made);
    return result;
  });
}

ncclResult_t accept(void* listen_comm, void** recv_comm) {
  return guarded([&] {
    std::unique_ptr<RecvComm> made;
    const ncclResult_t result = static_cast<Listener*>(listen_comm)->accept(&made);
    *recv_comm = static_cast<Connection*>(made.release());
    return result;
  });
}

ncclResult_t close_send(void* send_comm) {
  return guarded([&] {
    delete connection(send_comm);
    return ncclSuccess;
  });
}

ncclResult_t close_recv(void* recv_comm) {
  return close_send(recv_comm);
}

ncclResult_t close_listen(void* listen_comm) {
  return guarded([&] {
    delete static_cast<Listener*>(listen_comm);
    return ncclSuccess;
  });
}

namespace {

constexpr int kRemoteWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

ncclResult_t registered(std::unique_ptr<Memory> made, uint64_t size, void** handle) {
  if (made == nullptr) {
    NET_WARN("Registering %lu bytes: %s", static_cast<unsigned long>(size), std::strerror(errno));
    return ncclSystemError;
  }
  *handle = made.release();
  return ncclSuccess;
}

ncclResult_t register_mapping(const Connection& c, void* data, uint64_t size,
                              Result<std::unique_ptr<GpuMapping>> mapping, void** handle) {
  if (!mapping) {
    NET_WARN("Registering %lu bytes of a GPU: %s", static_cast<unsigned long>(size), mapping.error().text.c_str());
    return ncclSystemError;
  }
  return registered(
      Memory::add_gpu(c.process().api, c.process().devices, c.number(), data, size, kRemoteWrite, *std::move(mapping)),
      size, handle);
}

}  // namespace

ncclResult_t register_memory(void* comm, void* data, uint64_t size, int type, void** handle) {
  return guarded([&] {
    *handle = nullptr;
    const Connection& c = *connection(comm);
    size = std::max<uint64_t>(size, 1);
    if (type == NCCL_PTR_CUDA && c.process().gdr != nullptr)
      return register_mapping(c, data, size, c.process().gdr->map(data, size), handle);
    if (type != NCCL_PTR_HOST) {
      NET_WARN("Memory of type %d cannot be registered, only host memory (see ptrSupport)", type);
      return ncclInvalidUsage;
    }
    return registered(Memory::add(c.process().api, c.process().devices, c.number(), data, size, kRemoteWrite), size,
                      handle);
  });
}

ncclResult_t register_dma_buf(void* comm, void* data, uint64_t size, int type, uint64_t offset, int fd, void** handle) {
  return guarded([&] {
    if (handle != nullptr) *handle = nullptr;
    const Connection& c = *connection(comm);
    if (type != NCCL_PTR_CUDA || !c.process().maps_dma_bufs) {
      NET_WARN("DMA-BUF memory cannot be registered (see ptrSupport)");
      return ncclInvalidUsage;
    }
    size = std::max<uint64_t>(size, 1);
    return register_mapping(c, data, size, GpuMapping::of_dma_buf(data, size, offset, fd), handle);
  });
}

ncclResult_t deregister_memory(void* handle) {
  return guarded([&] {
    delete static_cast<Memory*>(handle);
    return ncclSuccess;
  });
}

ncclResult_t isend(void* send_comm, void* data, uint64_t size, int tag, void* memory, void* profile, void** request) {
  return guarded([&] {
    Request* made = nullptr;
    if (memory == nullptr && size != 0) return ncclInvalidArgument;
    const ncclResult_t result = static_cast<SendComm*>(connection(send_comm))
                                    ->isend(data, size, tag, static_cast<Memory*>(memory), profile, &made);
    *request = made;
    return result;
  });
}

ncclResult_t irecv(void* recv_comm, int n, void** data, const uint64_t* sizes, const int* tags, void** memory,
                   void** profiles, void** request) {
  return guarded([&] {
    Request* made = nullptr;
    Memory* handles[kMaxRecvs] = {};
    for (int i = 0; i < std::min(n, kMaxRecvs); ++i) {
      handles[i] = static_cast<Memory*>(memory[i]);
      if (handles[i] == nullptr && sizes[i] != 0) return ncclInvalidArgument;
    }
    // *request may be NCCL_NET_OPTIONAL_RECV_COMPLETION. A completion is cheap here and reports errors, so
    // such a receive completes like all others.
    const ncclResult_t result =
        static_cast<RecvComm*>(connection(recv_comm))->irecv(n, data, sizes, tags, handles, profiles, &made);
    *request = made;
    return result;
  });
}

// The processor stored the data: those in host memory are visible before the receive completes.
ncclResult_t iflush(int n, void* const* data, const int* sizes, void* const* memory, void** request) {
  return guarded([&] {
    *request = nullptr;
    for (int i = 0; i < n; ++i) {
      const auto* const to = static_cast<const Memory*>(memory[i]);
      if (to != nullptr && to->gpu() != nullptr && sizes[i] > 0) to->gpu()->flush(data[i]);
    }
    return ncclSuccess;
  });
}

ncclResult_t test(void* request, int* done, int* sizes) {
  return guarded([&] { return static_cast<Request*>(request)->test(done, sizes); });
}

}  // namespace mrc::nccl
