#include "ring_ports.h"

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <array>
#include <map>
#include <sstream>
#include <vector>

namespace mrc::datapath {

namespace {

constexpr unsigned int kPackets = 1024;

struct Pair {
  std::array<rte_ring*, 2> rings;  // towards side 0, towards side 1
};

// As a program would that uses DPDK itself, unless the datapath has started it.
void start_dpdk(const std::string& arguments) {
  std::istringstream in("test --lcores 0@0 " + arguments);
  static std::vector<std::string> words;  // DPDK keeps them
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const int rc = rte_eal_init(static_cast<int>(argv.size()), argv.data());
  ASSERT_TRUE(rc >= 0 || rte_errno == EALREADY) << rte_strerror(rte_errno);
}

std::string name_of(uint32_t pair, int side) {
  return "pair" + std::to_string(pair) + (side == 0 ? "a" : "b");
}

Pair make_pair(uint32_t number) {
  Pair pair{};
  for (int side : {0, 1})
    pair.rings[static_cast<size_t>(side)] =
        rte_ring_create(("to" + name_of(number, side)).c_str(), kPackets, SOCKET_ID_ANY, 0);
  for (size_t side : {0, 1})
    EXPECT_GE(rte_eth_from_rings(name_of(number, static_cast<int>(side)).c_str(), &pair.rings[side], 1,
                                 &pair.rings[1 - side], 1, 0),
              0);
  return pair;
}

}  // namespace

std::string ring_port(const std::string& arguments, uint32_t pair, int side) {
  static std::map<uint32_t, Pair> pairs;
  if (pairs.empty()) start_dpdk(arguments);
  if (pairs.count(pair) == 0) pairs[pair] = make_pair(pair);
  void* packet = nullptr;
  for (rte_ring* ring : pairs[pair].rings)
    while (rte_ring_dequeue(ring, &packet) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
  return "net_ring_" + name_of(pair, side);
}

}  // namespace mrc::datapath
