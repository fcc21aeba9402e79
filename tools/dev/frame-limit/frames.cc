#include "frames.h"

#include <cstring>

namespace frame_limit {

namespace {

constexpr uint8_t kEtherTypeIpv6[2] = {0x86, 0xDD};
constexpr uint8_t kUdp = 17;

void put16(uint8_t* p, uint32_t value) {
  p[0] = static_cast<uint8_t>(value >> 8);
  p[1] = static_cast<uint8_t>(value);
}

}  // namespace

void fail(const std::string& what) {
  mrc::tools::fail_program(kProgram, what);
}

// From and to locally administered addresses, 2001:db8::1 and ::2, port 4791.
void write_frame(uint8_t* frame, const Message& message, uint32_t payload_bytes) {
  std::memset(frame, 0, kHeaderBytes);
  frame[0] = frame[6] = 2;
  std::memcpy(frame + 12, kEtherTypeIpv6, 2);
  uint8_t* ip = frame + 14;
  const uint32_t udp_bytes = 8 + static_cast<uint32_t>(sizeof(message)) + payload_bytes;
  ip[0] = 0x60;
  put16(ip + 4, udp_bytes);
  ip[6] = kUdp;
  ip[7] = 64;
  for (uint8_t* address : {ip + 8, ip + 24}) put16(address, 0x2001), put16(address + 2, 0xDB8);
  ip[23] = 1;
  ip[39] = 2;
  uint8_t* udp = ip + 40;
  put16(udp, 49152);
  put16(udp + 2, 4791);
  put16(udp + 4, udp_bytes);
  std::memcpy(frame + kHeaderBytes, &message, sizeof(message));
}

std::optional<Message> read_frame(const Received& frame) {
  const uint8_t* data = frame.parts[0].data;
  if (frame.parts[0].bytes < kHeaderBytes + sizeof(Message)) return std::nullopt;
  if (std::memcmp(data + 12, kEtherTypeIpv6, 2) != 0 || data[14 + 6] != kUdp) return std::nullopt;
  Message message;
  std::memcpy(&message, data + kHeaderBytes, sizeof(message));
  if (message.kind < Kind::kStart || message.kind > Kind::kReport) return std::nullopt;
  return message;
}

bool send_message(Port* port, const Message& message) {
  uint8_t* room = port->reserve();
  if (room == nullptr) {
    port->flush();
    room = port->reserve();
  }
  if (room == nullptr) return false;
  write_frame(room, message, 0);
  port->commit(kHeaderBytes + sizeof(message));
  port->flush();
  return true;
}

std::vector<std::unique_ptr<Port>> open_ports(const Options& options) {
  prepare_ports(options.eal);
  std::vector<std::unique_ptr<Port>> ports;
  for (const std::string& name : options.ports) ports.push_back(open_port(name));
  return ports;
}

}  // namespace frame_limit
