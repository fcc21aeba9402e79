#include "datapath/dpdk/module/port.h"

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace mrc::datapath {

namespace {

constexpr uint16_t kDescriptors = 512;
constexpr uint32_t kPackets = 4 * kDescriptors;  // in both rings, held, and lent to the engine
constexpr int kStartTries = 100;
constexpr unsigned int kStartEveryUs = 20000;
constexpr uint32_t kFrameSlack = 512;  // room for drivers that require more than a frame, and for VLAN tags

Error fail(const std::string& what, int code) {
  return {code, what + ": " + rte_strerror(code)};
}

}  // namespace

Port::~Port() {
  if (id_ == kNone) return;
  if (started_) (void)rte_eth_dev_stop(id_);
  if (owner_ != 0) (void)rte_eth_dev_owner_unset(id_, owner_);
  rte_eth_dev_info info{};
  if (made_here_ && rte_eth_dev_info_get(id_, &info) == 0) (void)rte_dev_remove(info.device);
  // A packet that another port still has (net_ring passes them on unchanged) keeps its memory.
  if (pool_ != nullptr && rte_mempool_full(pool_) == 1) rte_mempool_free(pool_);
}

Status Port::open(const Wanted& wanted) {
  Status done = find(wanted.name);
  if (done) done = claim();
  if (done) done = configure(wanted);
  if (done) done = start();
  return done;
}

Status Port::find(const std::string& name) {
  name_ = name.substr(0, name.find(','));
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) == 0) return {};
  id_ = kNone;
  if (const int rc = rte_dev_probe(name.c_str()); rc != 0)
    return fail("DPDK has no port '" + name + "'", rc == -1 ? ENODEV : -rc);
  made_here_ = true;
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) == 0) return {};
  rte_dev_iterator iterator;  // a card's ports may have names of their own
  RTE_ETH_FOREACH_MATCHING_DEV(id_, name.c_str(), &iterator) {
    rte_eth_iterator_cleanup(&iterator);
    return {};
  }
  id_ = kNone;
  return fail("device '" + name + "' has no port", ENODEV);
}

Status Port::claim() {
  rte_eth_dev_owner owner{};
  std::strncpy(owner.name, "mrc", sizeof(owner.name) - 1);
  int rc = rte_eth_dev_owner_new(&owner.id);
  if (rc == 0) rc = rte_eth_dev_owner_set(id_, &owner);
  if (rc != 0) {
    id_ = kNone;
    return fail("port '" + name_ + "' is used by another device of this process", EBUSY);
  }
  owner_ = owner.id;
  return {};
}

Status Port::configure(const Wanted& wanted) {
  rte_eth_dev_info info{};
  if (const int rc = rte_eth_dev_info_get(id_, &info); rc != 0)
    return fail("port '" + name_ + "' has no device information", -rc);
  driver_ = info.driver_name;
  uint16_t usual = 0;
  (void)rte_eth_dev_get_mtu(id_, &usual);
  mtu_ = wanted.mtu != 0 ? wanted.mtu : usual;
  // Some drivers report a limit that they do not enforce (af_packet sends what its interface accepts): a larger MTU is
  // the user's statement of the port's capacity.
  uint32_t accepted = std::min<uint32_t>(mtu_, info.max_mtu);
  if (info.max_rx_pktlen > kEthernetBytes + 4) accepted = std::min(accepted, info.max_rx_pktlen - kEthernetBytes - 4);
  if (accepted < mtu_)
    note_ = "port " + name_ + " carries " + std::to_string(accepted) + " bytes, " + std::to_string(mtu_) +
            " are used by the setting dpdk_mtu";
  rte_eth_conf conf{};
  conf.rxmode.mtu = accepted;
  computes_checksums_ = wanted.checksum && (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0;
  if (computes_checksums_) conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
  if (const int rc = rte_eth_dev_configure(id_, 1, 1, &conf); rc != 0)
    return fail("port '" + name_ + "' cannot be configured for packets of " + std::to_string(accepted) + " bytes", -rc);
  return {};
}

Status Port::start() {
  static std::atomic<uint32_t> pools{0};
  const std::string pool = "mrc-" + std::to_string(pools++);
  const uint32_t room = RTE_PKTMBUF_HEADROOM + kEthernetBytes + mtu_ + kFrameSlack;
  if (room > UINT16_MAX) return fail("packets of " + std::to_string(mtu_) + " bytes", EMSGSIZE);
  const int node = rte_eth_dev_socket_id(id_);
  pool_ = rte_pktmbuf_pool_create(pool.c_str(), kPackets - 1, 0, 0, static_cast<uint16_t>(room), node);
  if (pool_ == nullptr)
    return fail("no memory for the packets of port '" + name_ + "' (more with -m in the setting dpdk_eal)", rte_errno);
  uint16_t receive = kDescriptors, send = kDescriptors;
  int rc = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &receive, &send);
  const auto socket = static_cast<unsigned int>(node);
  if (rc == 0) rc = rte_eth_rx_queue_setup(id_, 0, receive, socket, nullptr, pool_);
  if (rc == 0) rc = rte_eth_tx_queue_setup(id_, 0, send, socket, nullptr);
  // One end of a shared memory starts only when the other one exists, which may be a process that is starting.
  for (int tries = 0; rc == 0; ++tries) {
    rc = rte_eth_dev_start(id_);
    if (rc == 0 || tries == kStartTries) break;
    rte_delay_us_sleep(kStartEveryUs);
    rc = 0;
  }
  if (rc != 0) return fail("port '" + name_ + "' does not start", -rc);
  started_ = true;
  // Neighbours solicit by multicast. Virtual ports accept everything and often refuse both.
  if (rte_eth_allmulticast_enable(id_) != 0) (void)rte_eth_promiscuous_enable(id_);
  rte_ether_addr mac{};
  if (rc = rte_eth_macaddr_get(id_, &mac); rc != 0) return fail("port '" + name_ + "' has no MAC address", -rc);
  std::copy_n(mac.addr_bytes, mac_.size(), mac_.begin());
  return {};
}

uint64_t Port::missed() const {
  rte_eth_stats stats{};
  return rte_eth_stats_get(id_, &stats) == 0 ? stats.imissed : 0;
}

}  // namespace mrc::datapath
