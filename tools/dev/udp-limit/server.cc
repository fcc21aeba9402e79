// Receiving side: polls its planes in turn, copies every burst into the large buffer, returns credit.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "arrival.h"
#include "common.h"
#include "huge_memory.h"

namespace udp_limit {

namespace {

struct ReceivingPlane {
  mrc::Fd fd;
  Address credit_to{};
  socklen_t credit_length = 0;
  uint64_t received = 0;
  uint64_t credited = 0;
};

struct Server {
  const Options& options;
  std::vector<ReceivingPlane> planes;
  mrc::tools::Reception reception;
  Arrival arrival{options, &reception};
  bool done = false;

  void open();
  void serve();
  bool receive(ReceivingPlane* p);
  void control(ReceivingPlane* p, const Header& h, const Address& from, socklen_t length);
  void credit(ReceivingPlane* p);
  void sleep();
};

void Server::open() {
  for (uint32_t i = 0; i < options.planes; ++i) {
    ReceivingPlane p;
    socklen_t length;
    Address a = make_address(address_of_plane(options, i), static_cast<uint16_t>(options.port + i), &length);
    p.fd = open_socket(options, a.sa.sa_family, true);
    if (::bind(p.fd.get(), &a.sa, length) != 0) fail("bind " + address_of_plane(options, i));
    planes.push_back(std::move(p));
  }
}

void Server::credit(ReceivingPlane* p) {
  Header h;
  h.kind = Kind::kCredit;
  h.session = reception.session();
  h.value = p->received;
  p->credited = p->received;
  if (!options.sendmmsg) {
    for (uint32_t i = 0; i < options.credits; ++i)
      (void)!::sendto(p->fd.get(), &h, sizeof(h), 0, &p->credit_to.sa, p->credit_length);
    return;
  }
  iovec iov{&h, sizeof(h)};
  std::vector<mmsghdr> all(options.credits);
  for (mmsghdr& each : all) {
    each.msg_hdr.msg_name = &p->credit_to;
    each.msg_hdr.msg_namelen = p->credit_length;
    each.msg_hdr.msg_iov = &iov;
    each.msg_hdr.msg_iovlen = 1;
  }
  (void)!::sendmmsg(p->fd.get(), all.data(), options.credits, 0);
}

void Server::control(ReceivingPlane* p, const Header& h, const Address& from, socklen_t length) {
  if (h.kind == Kind::kStart) {
    if (h.session != reception.session()) {
      done = false;
      for (ReceivingPlane& each : planes) each.received = each.credited = 0;
      Header start = h;
      if (options.huge) start.memory = whole_huge_pages(h.memory);
      if (!reception.begin(start, options.huge ? map_huge_memory : mrc::tools::map_memory)) fail("memory");
    }
    p->credit_to = from;
    p->credit_length = length;
    credit(p);
  } else if (h.kind == Kind::kEnd && h.session == reception.session()) {
    const Header report = reception.report();
    (void)!::sendto(p->fd.get(), &report, sizeof(report), 0, &from.sa, length);
    done = h.value == 1;  // the client has its report
  }
}

// False: the plane's queue is empty.
bool Server::receive(ReceivingPlane* p) {
  Address from;
  alignas(8) char space[64];
  msghdr msg{};
  msg.msg_name = &from;
  msg.msg_namelen = sizeof(from);
  arrival.prepare(&msg);
  msg.msg_control = space;
  msg.msg_controllen = sizeof(space);
  ssize_t n = ::recvmsg(p->fd.get(), &msg, 0);
  if (n < 0) return false;
  if (n <= 2) {  // ping
    (void)!::sendto(p->fd.get(), arrival.first(), static_cast<size_t>(n), 0, &from.sa, msg.msg_namelen);
    return true;
  }
  if (n < static_cast<ssize_t>(sizeof(Header))) return true;
  Header h;
  std::memcpy(&h, arrival.first(), sizeof(h));
  if (h.kind != Kind::kData) {
    control(p, h, from, msg.msg_namelen);
    return true;
  }
  if (h.session != reception.session()) return true;
  uint64_t bytes = static_cast<uint64_t>(n);
  arrival.place(bytes);
  reception.arrived(now_ns());
  reception.count(bytes);
  p->received += bytes;
  if (p->received - p->credited >= mrc::tools::Reception::kCreditStep) credit(p);
  return true;
}

// Until the next client, or the next slice of one: the processor is for what is measured meanwhile.
void Server::sleep() {
  std::vector<pollfd> fds;
  for (const ReceivingPlane& p : planes) fds.push_back({p.fd.get(), POLLIN, 0});
  (void)::poll(fds.data(), fds.size(), -1);
}

void Server::serve() {
  uint64_t last_busy = now_ns();
  while (!done || !options.once) {
    bool any = false;
    for (ReceivingPlane& p : planes) {
      if (receive(&p)) {
        any = true;
      } else if (p.received != p.credited) {
        credit(&p);
      }
    }
    if (any) {
      last_busy = 0;
    } else if (done && !options.once) {
      sleep();
    } else if (last_busy == 0) {
      last_busy = now_ns();
    } else if (now_ns() - last_busy > 100000000) {
      ::usleep(1000);  // no client is measuring
    }
  }
}

}  // namespace

int run_server(const Options& options) {
  Server server{.options = options};
  server.open();
  std::printf("ready\n");
  std::fflush(stdout);
  server.serve();
  return 0;
}

}  // namespace udp_limit
