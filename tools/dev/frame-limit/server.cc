// Receiving side: polls its planes in turn, copies every frame into the memory, returns credit.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "frames.h"

namespace frame_limit {

namespace {

constexpr uint64_t kPollFor = 100000000;  // after the last frame, then now and then

struct ReceivingPlane {
  std::unique_ptr<Port> port;
  uint64_t received = 0, credited = 0;
};

struct Server {
  std::vector<ReceivingPlane> planes;
  mrc::tools::Reception reception;
  bool measured = false;  // the client has its report

  bool serve(ReceivingPlane* plane);
  void data(ReceivingPlane* plane, const Received& frame);
  void control(ReceivingPlane* plane, const Message& message);
  void begin(const Message& start);
  void credit(ReceivingPlane* plane);
};

void Server::credit(ReceivingPlane* plane) {
  Message message;
  message.kind = Kind::kCredit;
  message.session = reception.session();
  message.value = plane->received;
  if (send_message(plane->port.get(), message)) plane->credited = plane->received;
}

void Server::begin(const Message& start) {
  measured = false;
  for (ReceivingPlane& plane : planes) plane.received = plane.credited = 0;
  if (!reception.begin(start)) fail("memory");
}

void Server::control(ReceivingPlane* plane, const Message& message) {
  if (message.kind == Kind::kStart) {
    if (message.session != reception.session()) begin(message);
    credit(plane);
  } else if (message.kind == Kind::kEnd && message.session == reception.session()) {
    measured = message.value == 1;
    if (!measured) (void)send_message(plane->port.get(), reception.report());
  }
}

void Server::data(ReceivingPlane* plane, const Received& frame) {
  uint32_t skip = kHeaderBytes, bytes = 0;
  for (uint32_t i = 0; i < frame.count; ++i) bytes += frame.parts[i].bytes;
  uint8_t* to = reception.place(bytes - kHeaderBytes);
  for (uint32_t i = 0; i < frame.count; ++i) {
    std::memcpy(to, frame.parts[i].data + skip, frame.parts[i].bytes - skip);
    to += frame.parts[i].bytes - skip;
    skip = 0;
  }
  plane->received += bytes - kHeaderBytes;
  reception.count(bytes - kHeaderBytes);
}

// False: there was no frame.
bool Server::serve(ReceivingPlane* plane) {
  std::array<Received, kBatch> frames;
  const uint32_t count = plane->port->receive(frames.data(), kBatch);
  bool any_data = false;
  for (uint32_t i = 0; i < count; ++i) {
    const std::optional<Message> message = read_frame(frames[i]);
    if (!message) continue;
    if (message->kind != Kind::kData) {
      control(plane, *message);
    } else if (message->session == reception.session()) {
      data(plane, frames[i]);
      any_data = true;
    }
  }
  plane->port->release();
  if (any_data) reception.arrived(now_ns());
  if (plane->received - plane->credited >= (count > 0 ? mrc::tools::Reception::kCreditStep : 1)) credit(plane);
  return count > 0;
}

}  // namespace

int run_server(const Options& options) {
  Server server;
  for (auto& port : open_ports(options)) server.planes.push_back({.port = std::move(port)});
  std::printf("ready\n");
  std::fflush(stdout);
  for (uint64_t busy = now_ns();;) {
    bool any = false;
    for (ReceivingPlane& plane : server.planes) any = server.serve(&plane) || any;
    const uint64_t now = any || !server.measured ? now_ns() : busy;
    if (any)
      busy = now;
    else if (server.measured || now - busy > kPollFor)
      ::usleep(1000);  // the processor is for what is measured meanwhile
  }
}

}  // namespace frame_limit
