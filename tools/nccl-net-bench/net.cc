#include "net.h"

#include <dlfcn.h>
#include <net_abi/copy_properties.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

namespace mrc::nccl_net {

namespace {

// One class for all versions: what a version lacks or has otherwise is decided by the members of its structure.
template <int kVersion, typename Plugin, typename Props>
class Versioned final : public Net {
 public:
  explicit Versioned(const Plugin& plugin) : p_(plugin) {}

  int version() const override { return kVersion; }
  const char* name() const override { return p_.name; }
#define NEED(member) \
  if (p_.member == nullptr) names.push_back(#member);
  std::vector<std::string> missing_before_init() const override {
    std::vector<std::string> names;
    NEED(name)
    NEED(init)
    return names;
  }
  std::vector<std::string> missing() const override {
    std::vector<std::string> names = missing_before_init();
    NEED(devices)
    NEED(getProperties)
    NEED(listen)
    NEED(connect)
    NEED(accept)
    NEED(regMr)
    NEED(deregMr)
    NEED(isend)
    NEED(irecv)
    NEED(iflush)
    NEED(test)
    NEED(closeSend)
    NEED(closeRecv)
    NEED(closeListen)
    if constexpr (kVersion >= 11) NEED(finalize)
    return names;
  }
#undef NEED

  ncclResult_t init(ncclDebugLogger_t logger, int traffic_class) override {
    traffic_class_ = traffic_class;
    if constexpr (kVersion >= 11) {
      std::remove_pointer_t<Argument<2, decltype(p_.init)>> config{traffic_class};
      return p_.init(&context_, 0x1234, &config, logger, nullptr);
    } else if constexpr (kVersion == 10) {
      return p_.init(logger, nullptr);
    } else {
      return p_.init(logger);
    }
  }
  ncclResult_t finalize() override {
    if constexpr (kVersion >= 11) return p_.finalize(context_);
    return ncclSuccess;
  }
  ncclResult_t devices(int* count) override {
    return p_.devices(count);
  }
  ncclResult_t properties(int device, ncclNetProperties_t* out) override {
    Props props{};
    const ncclResult_t result = p_.getProperties(device, &props);
    *out = {};
    if (result != ncclSuccess) return result;
    nccl::copy_properties(props, out);
    if constexpr (requires { props.vProps; }) {
      out->vProps.ndevs = props.vProps.ndevs;  // as reported by the plugin, even if impossible
      for (int i = 0; i < std::min<int>(props.vProps.ndevs, std::size(props.vProps.devs)); ++i)
        out->vProps.devs[i] = props.vProps.devs[i];
    }
    return result;
  }
  ncclResult_t make_virtual(int* device, const std::vector<int>& members) override {
    if constexpr (kVersion >= 9) {
      std::remove_pointer_t<Argument<1, decltype(p_.makeVDevice)>> props{};
      props.ndevs = static_cast<int>(members.size());
      for (size_t i = 0; i < members.size(); ++i) props.devs[i] = members[i];
      return p_.makeVDevice(device, &props);
    }
    return ncclInvalidUsage;
  }
  ncclResult_t set_attributes(int peers, int flows) override {
    if constexpr (kVersion >= 11) {
      std::remove_pointer_t<Argument<1, decltype(p_.setNetAttr)>> a{};
      a.sendCommAttr = {peers, 1, flows, 1};
      a.recvCommAttr = {peers, 1, flows, 1};
      return p_.setNetAttr(context_, &a);
    }
    return ncclSuccess;
  }
  ncclResult_t listen(int device, void* handle, void** comm) override {
    if constexpr (kVersion >= 11)
      return p_.listen(context_, device, handle, comm);
    else
      return p_.listen(device, handle, comm);
  }
  ncclResult_t connect(int device, void* handle, void** comm) override {
    if constexpr (kVersion == 6) {
      return p_.connect(device, handle, comm);
    } else {
      ncclNetDeviceHandle_v7_t* side = nullptr;
      if constexpr (kVersion >= 11) {
        return p_.connect(context_, device, handle, comm, &side);
      } else if constexpr (kVersion == 10) {
        ncclNetCommConfig_v10_t config{traffic_class_};
        return p_.connect(device, &config, handle, comm, &side);
      } else {
        return p_.connect(device, handle, comm, &side);
      }
    }
  }
  ncclResult_t accept(void* listen_comm, void** comm) override {
    if constexpr (kVersion == 6) {
      return p_.accept(listen_comm, comm);
    } else {
      ncclNetDeviceHandle_v7_t* side = nullptr;
      return p_.accept(listen_comm, comm, &side);
    }
  }
  ncclResult_t reg(void* comm, void* data, size_t size, int type, void** memory) override {
    return p_.regMr(comm, data, static_cast<Argument<2, decltype(p_.regMr)>>(size), type, memory);
  }
  ncclResult_t reg_dma_buf(void* comm, void* data, size_t size, uint64_t offset, int fd, void** memory) override {
    return p_.regMrDmaBuf(comm, data, size, NCCL_PTR_CUDA, offset, fd, memory);
  }
  ncclResult_t dereg(void* comm, void* memory) override {
    return p_.deregMr(comm, memory);
  }
  ncclResult_t isend(void* comm, void* data, size_t size, int tag, void* memory, void** request) override {
    const auto narrow = static_cast<Argument<2, decltype(p_.isend)>>(size);
    if constexpr (kVersion >= 10)
      return p_.isend(comm, data, narrow, tag, memory, nullptr, request);
    else
      return p_.isend(comm, data, narrow, tag, memory, request);
  }
  ncclResult_t irecv(void* comm, int n, void** data, const size_t* sizes, int* tags, void** memory,
                     void** request) override {
    std::remove_pointer_t<Argument<3, decltype(p_.irecv)>> narrow[16] = {};
    for (int i = 0; i < n && i < 16; ++i)
      narrow[i] = static_cast<std::remove_reference_t<decltype(narrow[0])>>(sizes[i]);
    if constexpr (kVersion >= 10)
      return p_.irecv(comm, n, data, narrow, tags, memory, nullptr, request);
    else
      return p_.irecv(comm, n, data, narrow, tags, memory, request);
  }
  ncclResult_t iflush(void* comm, int n, void** data, int* sizes, void** memory, void** request) override {
    return p_.iflush(comm, n, data, sizes, memory, request);
  }
  ncclResult_t test(void* request, int* done, int* sizes) override {
    return p_.test(request, done, sizes);
  }
  ncclResult_t irecv_consumed(void* comm, int n, void* request) override {
    if constexpr (kVersion >= 7)
      if (p_.irecvConsumed != nullptr) return p_.irecvConsumed(comm, n, request);
    return ncclSuccess;
  }
  ncclResult_t close_send(void* comm) override {
    return p_.closeSend(comm);
  }
  ncclResult_t close_recv(void* comm) override {
    return p_.closeRecv(comm);
  }
  ncclResult_t close_listen(void* comm) override {
    return p_.closeListen(comm);
  }

 private:
  template <int kIndex, typename... Args>
  static std::tuple_element_t<kIndex, std::tuple<Args...>> argument_of(ncclResult_t (*)(Args...));
  template <int kIndex, typename Function>
  using Argument = decltype(argument_of<kIndex>(std::declval<Function>()));

  const Plugin& p_;
  void* context_ = nullptr;
  int traffic_class_ = NCCL_NET_TRAFFIC_CLASS_UNDEF;
};

}  // namespace

std::string version_range() {
  return std::to_string(kVersions[0]) + " to " + std::to_string(kVersions[std::size(kVersions) - 1]);
}

Result<int> Net::newest(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return invalid(dlerror());
  for (int i = std::size(kVersions) - 1; i >= 0; --i)
    if (dlsym(handle, ("ncclNetPlugin_v" + std::to_string(kVersions[i])).c_str()) != nullptr) return kVersions[i];
  return invalid(library + " exports no ncclNetPlugin_vN with N of " + version_range());
}

Result<std::unique_ptr<Net>> Net::open(const std::string& library, int version) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return invalid(dlerror());
  const std::string symbol = "ncclNetPlugin_v" + std::to_string(version);
  const void* found = dlsym(handle, symbol.c_str());
  if (found == nullptr) return invalid(symbol + " is not exported");
  switch (version) {
#define MRC_NET_CASE(v)                                                                  \
  case v:                                                                                \
    return std::make_unique<Versioned<v, ncclNet_v##v##_t, ncclNetProperties_v##v##_t>>( \
        *static_cast<const ncclNet_v##v##_t*>(found));
    MRC_NET_VERSIONS(MRC_NET_CASE)
#undef MRC_NET_CASE
    default:
      return invalid("unknown version");
  }
}

}  // namespace mrc::nccl_net
