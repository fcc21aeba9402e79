#include "datapath/dpdk/module/port.h"

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mrc::datapath {

namespace {

constexpr uint16_t kDescriptors = 512;
constexpr uint32_t kPackets = 4 * kDescriptors;                      // in both rings, held, and lent to the engine
constexpr unsigned int kStartFirstUs = 20000, kStartMaxUs = 500000;  // pauses between tries to start, which double
constexpr int kStartTries = 25;                                      // for ten seconds
constexpr unsigned int kLinkEveryUs = 10000;
constexpr int kLinkTries = 30;
constexpr uint32_t kFrameSlack = 512;  // room for drivers that require more than a frame, and for VLAN tags

Error fail(const std::string& what, int code) {
  return {code, what + ": " + rte_strerror(code)};
}

}  // namespace

Port::~Port() {
  if (id_ == kNone) return;
  pool_.release_spares();
  stop();
  if (owner_ != 0) (void)rte_eth_dev_owner_unset(id_, owner_);
  rte_eth_dev_info info{};
  if (made_here_ && rte_eth_dev_info_get(id_, &info) == 0) (void)rte_dev_remove(info.device);
}

void Port::stop() {
  if (started_) (void)rte_eth_dev_stop(id_);
  started_ = false;
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
  is_client_ = driver_ == "net_memif" && wanted.name.find("role=server") == std::string::npos;
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
  const int node = rte_eth_dev_socket_id(id_);
  const uint32_t frame_bytes = kEthernetBytes + mtu_ + kFrameSlack;
  if (frame_bytes > PacketPool::kMaxFrameBytes) return fail("packets of " + std::to_string(mtu_) + " bytes", EMSGSIZE);
  if (Status opened = pool_.open(name_, kPackets, frame_bytes, node); !opened) return opened;
  uint16_t receive = kDescriptors, send = kDescriptors;
  int rc = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &receive, &send);
  const auto socket = static_cast<unsigned int>(node);
  if (rc == 0) rc = rte_eth_rx_queue_setup(id_, 0, receive, socket, nullptr, pool_.get());
  if (rc == 0) rc = rte_eth_tx_queue_setup(id_, 0, send, socket, nullptr);
  // One end of a shared memory starts only when the other one exists, which may be a process that is starting.
  unsigned int pause_us = kStartFirstUs;
  for (int tries = 0; rc == 0; ++tries) {
    rc = start_once();
    if (rc == 0 || tries == kStartTries) break;
    rte_delay_us_sleep(pause_us);
    pause_us = std::min(2 * pause_us, kStartMaxUs);
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

// The server of a shared memory refuses a client that connects before it has started, and the client's driver does not
// connect again until it is restarted.
int Port::start_once() {
  if (const int rc = rte_eth_dev_start(id_); rc != 0 || !is_client_) return rc;
  rte_eth_link link{};
  for (int tries = 0; tries < kLinkTries; ++tries) {
    if (rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP) return 0;
    rte_delay_us_sleep(kLinkEveryUs);
  }
  (void)rte_eth_dev_stop(id_);
  return -ENOTCONN;
}

uint64_t Port::missed() const {
  rte_eth_stats stats{};
  return rte_eth_stats_get(id_, &stats) == 0 ? stats.imissed : 0;
}

}  // namespace mrc::datapath
