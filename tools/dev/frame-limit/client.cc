// Sending side: batches of frames on every plane in turn, as far as the window is open; prints the result.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "frames.h"
#include "slices.h"

namespace frame_limit {

namespace {

constexpr uint64_t kSilenceLimit = 60000000000;  // with a server that does not answer at all
constexpr uint64_t kAskAgain = 20000000;
constexpr uint32_t kReportRepeats = 3;  // times that a server is told that its report arrived

struct SendingPlane {
  std::unique_ptr<Port> port;
  mrc::tools::CreditWindow window;
};

struct Result {
  uint64_t bytes = 0;  // received, with messages
  double seconds = 0, client_cpu_s = 0, server_cpu_s = 0;
  uint64_t lost = 0;
};

struct Client {
  const Options& options;
  std::vector<SendingPlane> planes;
  uint32_t session = 0;
  uint8_t* memory = nullptr;
  uint64_t at = 0;

  void open();
  bool read(SendingPlane* plane, Message* other);
  void send_batch(SendingPlane* plane);
  void write_off(SendingPlane* plane, uint64_t now) const;
  Message ask(SendingPlane* plane, Kind kind, Kind answer);
  Result run(double seconds);
};

void Client::open() {
  for (auto& port : open_ports(options)) planes.push_back({.port = std::move(port)});
  memory = mrc::tools::map_memory(options.memory);
  if (memory == nullptr) fail("memory");
}

// True when something of this session arrived; the last message is stored in *other.
bool Client::read(SendingPlane* plane, Message* other) {
  std::array<Received, kBatch> frames;
  const uint32_t count = plane->port->receive(frames.data(), kBatch);
  bool any = false;
  for (uint32_t i = 0; i < count; ++i) {
    const std::optional<Message> message = read_frame(frames[i]);
    if (!message || message->session != session) continue;
    any = true;
    if (other != nullptr) *other = *message;
    if (message->kind != Kind::kCredit) continue;
    plane->window.on_credit(message->value, now_ns());
  }
  plane->port->release();
  return any;
}

void Client::send_batch(SendingPlane* plane) {
  const uint32_t bytes = static_cast<uint32_t>(sizeof(Message)) + options.payload;
  Message message;
  message.session = session;
  for (uint32_t i = 0; i < kBatch && plane->window.in_flight() + bytes <= options.window; ++i) {
    uint8_t* room = plane->port->reserve();
    if (room == nullptr) break;
    if (at + options.payload > options.memory) at = 0;
    write_frame(room, message, options.payload);
    std::memcpy(room + kHeaderBytes + sizeof(message), memory + at, options.payload);
    plane->port->commit(kHeaderBytes + bytes);
    at += options.payload;
    plane->window.on_sent(bytes);
  }
  plane->port->flush();
}

void Client::write_off(SendingPlane* plane, uint64_t now) const {
  if (plane->window.in_flight() + kMaxFrameBytes >= options.window) plane->window.write_off_if_stalled(now);
}

Message Client::ask(SendingPlane* plane, Kind kind, Kind answer) {
  Message question, got;
  question.kind = kind;
  question.session = session;
  question.memory = options.memory;
  const uint64_t give_up = now_ns() + kSilenceLimit;
  for (uint64_t now = now_ns(); now < give_up; now = now_ns()) {
    (void)send_message(plane->port.get(), question);
    while (now_ns() < now + kAskAgain) {
      if (read(plane, &got) && got.kind == answer) return got;
      plane->port->flush();
    }
  }
  errno = ETIMEDOUT;
  fail("no answer from the server");
}

Result Client::run(double seconds) {
  session = static_cast<uint32_t>(now_ns() >> 10) ^ static_cast<uint32_t>(::getpid());
  for (SendingPlane& plane : planes) {
    plane.window.restart();
    (void)ask(&plane, Kind::kStart, Kind::kCredit);
  }
  double cpu = cpu_seconds();
  const uint64_t start = now_ns(), end = start + static_cast<uint64_t>(seconds * 1e9);
  for (SendingPlane& plane : planes) plane.window.begin(start);
  for (uint64_t now = start; now < end; now = now_ns()) {
    for (SendingPlane& plane : planes) {
      (void)read(&plane, nullptr);
      send_batch(&plane);
      write_off(&plane, now);
    }
  }
  cpu = cpu_seconds() - cpu;
  const Message report = ask(planes.data(), Kind::kEnd, Kind::kReport);
  Message done;
  done.kind = Kind::kEnd;
  done.session = session;
  done.value = 1;
  for (uint32_t i = 0; i < kReportRepeats; ++i) (void)send_message(planes[0].port.get(), done);
  Result r;
  for (const SendingPlane& plane : planes) r.lost += plane.window.lost();
  r.bytes = report.value;
  r.seconds = mrc::tools::transfer_seconds(start, report.first_ns, report.last_ns);
  r.client_cpu_s = cpu;
  r.server_cpu_s = static_cast<double>(report.cpu_us) / 1e6;
  return r;
}

void print(const Options& options, const Result& r) {
  const double frame = static_cast<double>(sizeof(Message)) + options.payload;
  char text[400];
  std::snprintf(text, sizeof text,
                "{\"bytes\": %.0f, \"messages\": %.0f, \"seconds\": %.6f, \"lost_bytes\": %llu, "
                "\"cpu_s\": {\"client\": %.6f, \"server\": %.6f}}",
                static_cast<double>(r.bytes) / frame * options.payload, static_cast<double>(r.bytes) / frame, r.seconds,
                static_cast<unsigned long long>(r.lost), r.client_cpu_s, r.server_cpu_s);
  mrc::tools::print_slice(text);
}

}  // namespace

int run_client(const Options& options) {
  Client client{.options = options};
  client.open();
  if (!options.slices) {
    print(options, client.run(options.seconds));
    return 0;
  }
  const mrc::Status ended = mrc::tools::serve_slices([&](double seconds) { print(options, client.run(seconds)); });
  errno = 0;
  if (!ended) fail(ended.error().text);
  return 0;
}

}  // namespace frame_limit
