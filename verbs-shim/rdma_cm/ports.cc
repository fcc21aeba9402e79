#include "rdma_cm/ports.h"

#include <algorithm>

#include "gid.h"
#include "objects/device.h"
#include "provider/provider.h"

namespace mrc::shim::rdma_cm {

namespace {

constexpr int kUsualGid = 3;  // the one that programs use without a setting: IPv4 where the device has it

// True when the address is one of its GIDs.
bool fill(ibv_context* soft, const cm::Address& local, Port* port) {
  const Provider& api = *provider();
  ibv_port_attr attributes{};
  int found = -1, first = -1;
  bool exact = false;
  const int entries = api.mrc_soft_query_port(soft, 1, &attributes) == 0 ? attributes.gid_tbl_len : 0;
  union ibv_gid gid;
  for (int i = 0; i < entries && !exact; ++i) {
    if (api.mrc_soft_query_gid(soft, 1, i, &gid) != 0 || is_zero(gid)) continue;
    exact = std::equal(local.ip.begin(), local.ip.end(), gid.raw);
    if (exact || i == kUsualGid) found = i;
    if (first < 0) first = i;
  }
  const int chosen = std::max(found >= 0 ? found : first, 0);
  port->gid_index = static_cast<uint8_t>(chosen);
  if (api.mrc_soft_query_gid(soft, 1, chosen, &gid) == 0) std::copy_n(gid.raw, 16, port->gid.begin());
  if (entries > 0) port->mtu = static_cast<uint8_t>(attributes.active_mtu);
  ibv_device_attr device;
  if (api.mrc_soft_query_device(soft, &device) == 0) port->guid = device.node_guid;
  return exact;
}

}  // namespace

ibv_context* Ports::opened(const ibv_device* device) {
  ibv_context*& context = opened_[device];
  if (context == nullptr) context = provider()->mrc_soft_open_device(soft_device(device));
  return context;
}

Port Ports::port_for(const cm::Address& local) {
  Port first;
  for (const ibv_device* device : devices()) {
    ibv_context* const soft = opened(device);
    if (soft == nullptr) continue;
    Port port;
    port.device = device;
    if (fill(soft, local, &port)) return port;
    if (first.device == nullptr) first = port;
  }
  return first;
}

}  // namespace mrc::shim::rdma_cm
