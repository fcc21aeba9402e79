// The raw datapath over virtual links, beyond the contract that conformance_test.cc checks for all drivers.
#include "datapath/raw/raw_datapath.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdlib>

#include "link.h"
#include "udp_fixture.h"

namespace mrc::datapath {
namespace {

// Two ends on one plane.
class RawDatapath : public ::testing::Test {
 protected:
  // False: not to be had on this machine, and why_not_ says why.
  bool open(RawIo io, uint32_t mtu = 9000) {
    why_not_ = Link::why_not();
    if (!why_not_.empty()) return false;
    link_ = std::make_unique<Link>(1);
    for (const auto& [place, interface] : {std::pair{0, "plane0"}, {1, "plane0"}, {2, "end00"}, {2, "end01"}})
      run(place, std::string("ip link set ") + interface + " mtu " + std::to_string(mtu));
    open_ends(io);
    return a_ && b_;
  }
  void open_ends(RawIo io) {
    for (int side : {0, 1}) {
      HostConfig config;
      config.evs = auto_evs(1, 1);
      config.planes.resize(1);
      config.planes[plane_at(0)].addr = link_->address(0, side);
      config.planes[plane_at(0)].port = 4791;
      config.sndbuf = 64u << 10;
      link_->inside(side, [&] {
        auto opened = open_raw_datapath(config, io);
        ASSERT_TRUE(opened) << opened.error().text;
        (side == 0 ? a_ : b_) = *std::move(opened);
      });
    }
    ASSERT_TRUE(a_ && b_);
  }
  void make_packet(uint32_t bytes) {
    packet_ = std::make_unique<TestBurst>(1, bytes, bytes, bytes);
    packet_->address(*a_, *b_, 0_ev, link_->address(0, 0));
    packet_->burst.flow.dst = link_->address(0, 1);
  }
  bool run(int place, const std::string& command) {
    bool done = false;
    link_->inside(place, [&] { done = std::system(command.c_str()) == 0; });
    return done;
  }
  // With a bucket of a few packets and a queue without an end behind it, so that sent packets fill the socket's buffer.
  bool slow_down(const std::string& rate) {
    return run(0, "tc qdisc replace dev plane0 root tbf rate " + rate + " burst 20000 limit 1000000000");
  }
  bool offer() { return a_->tx_one(now(), packet_->burst); }
  // The neighbour is known when a packet arrived; until then packets pass through another socket.
  void become_acquainted(uint32_t bytes = 4000) {
    make_packet(bytes);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(offer());
      a_->flush();
      ASSERT_EQ(receive(*b_, 1).size(), 1u);
      ::poll(nullptr, 0, 5);
    }
  }
  // A plane without room. False as from open().
  bool fill() {
    if (!open(RawIo::kPacket)) return false;
    become_acquainted();
    if (!slow_down("64kbit")) {
      why_not_ = "this kernel has no qdisc tbf";
      return false;
    }
    for (int i = 0; i < 10000 && offer(); ++i) continue;
    a_->flush();
    EXPECT_FALSE(offer()) << "10,000 packets fit";
    return true;
  }

  std::string why_not_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<HostDatapath> a_, b_;
  std::unique_ptr<TestBurst> packet_;
};

TEST_F(RawDatapath, a_full_plane_costs_no_system_call_per_packet) {
  if (!fill()) GTEST_SKIP() << why_not_;
  const uint64_t before = a_->counters().tx_calls;
  for (int packet = 0; packet < 100; ++packet) EXPECT_TRUE(a_->planes_with_room().empty());
  EXPECT_LE(a_->counters().tx_calls - before, 1u);
}

TEST_F(RawDatapath, a_full_plane_is_shown_again_when_it_has_room) {
  if (!fill()) GTEST_SKIP() << why_not_;
  EXPECT_TRUE(a_->planes_with_room().empty());
  ASSERT_TRUE(slow_down("1gbit"));
  for (int rounds = 0; rounds < harness::limit_ms(1000) && a_->planes_with_room().empty(); ++rounds) {
    ::poll(nullptr, 0, 2);
    a_->flush();
  }
  EXPECT_EQ(a_->planes_with_room(), PlaneSet::all(1));
  EXPECT_TRUE(offer());
}

// A chunk of AF_XDP's memory has 4,096 bytes, and a received frame begins behind 256 of them.
TEST_F(RawDatapath, xdp_frames_that_fit_a_chunk_only_when_they_are_sent) {
  constexpr uint32_t kMtu = 4070, kHeaders = 40 + 8;
  if (!open(RawIo::kXdp, kMtu)) GTEST_SKIP() << why_not_;
  EXPECT_EQ(a_->plane_payload(plane_at(0)), kMtu - kHeaders);
  become_acquainted(3000);
  for (const uint32_t frame : {3839u, 3840u, 3841u, 3842u, 4000u, kMtu + 14}) {
    make_packet(frame - 14 - kHeaders);
    ASSERT_TRUE(offer());
    a_->flush();
    EXPECT_EQ(joined(receive(*b_, 1)), packet_->payload) << "a frame of " << frame;
  }
  EXPECT_EQ(a_->counters().tx_errors, 0u);
}

}  // namespace
}  // namespace mrc::datapath
