// Two datapaths of this process that connect as those of two processes do, and peers by hand.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <vector>

#include "datapath/local/handshake.h"
#include "datapath/local/local_datapath.h"
#include "datapath/local/pipe.h"
#include "udp_fixture.h"

namespace mrc::datapath {

class LocalEnds : public ::testing::Test {
 protected:
  struct End {
    std::unique_ptr<LocalDatapath> path;
    uint16_t port(uint8_t plane = 0) const { return path->plane_port(PlaneId(plane)); }
  };
  static End open(uint16_t port = 0) {
    UdpConfig config = loopback_config(false, 2, 4);
    config.planes[0].port = port;
    return {LocalDatapath::make(open_or_fail(config), config)};
  }
  Instant now() { return now_ = now_ + Duration::milliseconds(10); }  // so that every call polls the descriptors
  void send(End& from, End& to, uint32_t salt, EvIndex ev = {}) { send(from, to.port(ev.value() % 2), salt, ev); }
  void send(End& from, uint16_t port, uint32_t salt, EvIndex ev = {}) {
    TestBurst t(2, 300, 300, salt);
    t.address(*from.path, *from.path, ev, loopback(false));
    t.burst.flow.dst_port = port;
    EXPECT_TRUE(from.path->tx_one(now(), t.burst));
  }
  // Everything that has come.
  std::vector<uint8_t> take(End& at) {
    std::vector<uint8_t> bytes;
    core::RxBurst bursts[8];
    for (int empty = 0; empty < 3;) {
      const int n = at.path->rx_burst(now(), bursts, 8);
      for (int i = 0; i < n; ++i) bytes.insert(bytes.end(), bursts[i].data, bursts[i].data + bursts[i].bytes);
      empty = n > 0 ? 0 : empty + 1;
    }
    return bytes;
  }
  void connect(End& from, End& to) {
    from.path->request_pipe(now(), loopback(false), to.port());
    take(to);
    take(from);
  }
  static std::vector<uint8_t> bytes_of(uint32_t salt) { return TestBurst(2, 300, 300, salt).payload; }

  Instant now_;
};

// Listens in the place of a device.
struct Listener {
  std::unique_ptr<UdpDatapath> driver = open_or_fail(loopback_config(false, 1, 1));
  LocalAddress at{loopback(false), driver->plane_port(0_plane)};
  Fd listening = listen_local(at);
  Fd accept() const { return Fd(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK)); }
};

// A scripted peer: its handshake and bursts.
struct ScriptedPeer {
  Fd socket;
  std::unique_ptr<PipeWriter> pipe = PipeWriter::make();
  explicit ScriptedPeer(uint16_t port) : socket(connect_local({loopback(false), port})) { EXPECT_TRUE(socket); }
  bool request() { return send_pipe_request(socket.get(), pipe->fd()); }
};

}  // namespace mrc::datapath
