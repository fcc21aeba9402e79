// The frames of MRC without MRC: Ethernet, IPv6, UDP, 48 bytes in which a message is here, 4096 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "credit_transfer.h"
#include "port.h"

namespace frame_limit {

using mrc::tools::cpu_seconds;
using mrc::tools::now_ns;
using Kind = mrc::tools::TransferKind;
using Message = mrc::tools::TransferMessage;

inline constexpr uint32_t kHeaderBytes = 14 + 40 + 8;

struct Options {
  std::vector<std::string> ports;  // one per plane
  std::string eal;                 // arguments of DPDK's environment
  uint32_t payload = 4096;         // of a frame, behind the message
  uint32_t window = 1u << 20;      // bytes in flight per plane
  uint64_t memory = 1u << 20;      // bytes sent from and copied into, cyclically
  double seconds = 2;
  bool slices = false;
};

// Writes the headers and the message of a frame.
void write_frame(uint8_t* frame, const Message& message, uint32_t payload_bytes);
// None: no frame of ours.
std::optional<Message> read_frame(const Received& frame);

// A message alone; false: no room.
bool send_message(Port* port, const Message& message);

std::vector<std::unique_ptr<Port>> open_ports(const Options& options);
int run_server(const Options& options);
int run_client(const Options& options);

}  // namespace frame_limit
