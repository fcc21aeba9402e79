// A port that is a DPDK port with one queue each way, found by its device arguments.
#include <absl/strings/str_split.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "port.h"

namespace frame_limit {

namespace {

constexpr uint16_t kDescriptors = 512;
constexpr uint32_t kPackets = 4 * kDescriptors - 1;
constexpr int kStartTries = 500, kLinkTries = 30;
constexpr unsigned int kStartEveryUs = 20000, kLinkEveryUs = 10000;

class RtePort final : public Port {
 public:
  explicit RtePort(const std::string& arguments);
  uint8_t* reserve() override;
  void commit(uint32_t bytes) override;
  void flush() override;
  uint32_t receive(Received* out, uint32_t max) override;
  void release() override;

 private:
  bool starts(bool joins) const;

  uint16_t id_ = 0;
  rte_mempool* pool_ = nullptr;
  std::array<rte_mbuf*, 2 * kBatch> out_{};
  uint16_t begin_ = 0, end_ = 0;  // of out_: committed, not sent
  std::array<rte_mbuf*, kBatch> in_{};
  uint16_t received_ = 0;
  rte_mbuf* reserved_ = nullptr;
};

RtePort::RtePort(const std::string& arguments) {
  const std::string name = arguments.substr(0, arguments.find(','));
  if (rte_dev_probe(arguments.c_str()) != 0 || rte_eth_dev_get_port_by_name(name.c_str(), &id_) != 0)
    fail("no DPDK port " + arguments);
  pool_ = rte_pktmbuf_pool_create(("limit-" + name).c_str(), kPackets, 0, 0, RTE_PKTMBUF_HEADROOM + kMaxFrameBytes,
                                  rte_eth_dev_socket_id(id_));
  const rte_eth_conf conf{};  // ports in memory take more than their usual MTU
  const auto node = static_cast<unsigned int>(rte_eth_dev_socket_id(id_));
  if (pool_ == nullptr || rte_eth_dev_configure(id_, 1, 1, &conf) != 0 ||
      rte_eth_rx_queue_setup(id_, 0, kDescriptors, node, nullptr, pool_) != 0 ||
      rte_eth_tx_queue_setup(id_, 0, kDescriptors, node, nullptr) != 0)
    fail("DPDK port " + name);
  const bool joins = arguments.find("role=client") != std::string::npos;
  for (int tries = 0; !starts(joins); ++tries) {
    if (tries == kStartTries) fail("DPDK port " + name + " does not start");
    rte_delay_us_sleep(kStartEveryUs);
  }
}

// A port of memif starts only when the other one exists, and one that the other has refused is without a link until it
// starts anew. `joins`: it is such a port.
bool RtePort::starts(bool joins) const {
  if (rte_eth_dev_start(id_) != 0) return false;
  for (int tries = 0; joins; ++tries) {
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP) break;
    if (tries == kLinkTries) {
      (void)rte_eth_dev_stop(id_);
      return false;
    }
    rte_delay_us_sleep(kLinkEveryUs);
  }
  return true;
}

uint8_t* RtePort::reserve() {
  if (end_ == out_.size()) return nullptr;
  if (reserved_ == nullptr) reserved_ = rte_pktmbuf_alloc(pool_);
  return reserved_ == nullptr ? nullptr : rte_pktmbuf_mtod(reserved_, uint8_t*);
}

void RtePort::commit(uint32_t bytes) {
  (void)rte_pktmbuf_append(reserved_, static_cast<uint16_t>(bytes));
  out_[end_++] = reserved_;
  reserved_ = nullptr;
}

void RtePort::flush() {
  if (begin_ < end_)
    begin_ =
        static_cast<uint16_t>(begin_ + rte_eth_tx_burst(id_, 0, &out_[begin_], static_cast<uint16_t>(end_ - begin_)));
  if (begin_ == end_) begin_ = end_ = 0;
}

uint32_t RtePort::receive(Received* out, uint32_t max) {
  received_ = rte_eth_rx_burst(id_, 0, in_.data(), static_cast<uint16_t>(std::min(max, kBatch)));
  for (uint16_t i = 0; i < received_; ++i) {
    out[i].count = 0;
    for (const rte_mbuf* part = in_[i]; part != nullptr && out[i].count < out[i].parts.size(); part = part->next)
      out[i].parts[out[i].count++] = {rte_pktmbuf_mtod(part, const uint8_t*), rte_pktmbuf_data_len(part)};
  }
  return received_;
}

void RtePort::release() {
  if (received_ > 0) rte_pktmbuf_free_bulk(in_.data(), received_);
  received_ = 0;
}

}  // namespace

const char* const kKind = "DPDK";
const char* const kProgram = "mrc-rte-limit";

void prepare_ports(const std::string& arguments) {
  static std::vector<std::string> words;  // DPDK keeps them
  words = absl::StrSplit(arguments, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  words.insert(words.begin(), kProgram);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) fail("DPDK does not start");
}

std::unique_ptr<Port> open_port(const std::string& name) {
  return std::make_unique<RtePort>(name);
}

}  // namespace frame_limit
