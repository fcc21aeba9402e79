// What both limits measure: one port per plane, frames in and out in batches. xdp_port.cc is AF_XDP on an interface,
// rte_port.cc a DPDK port; a program has one of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace frame_limit {

inline constexpr uint32_t kBatch = 32;
inline constexpr uint32_t kMaxFrameBytes = 8192;

struct Received {
  struct Part {
    const uint8_t* data;
    uint32_t bytes;
  };
  std::array<Part, 4> parts;  // the first has all headers
  uint32_t count = 0;
};

class Port {
 public:
  virtual ~Port() = default;
  // Room for a frame, the same until commit(); null: none now.
  virtual uint8_t* reserve() = 0;
  virtual void commit(uint32_t bytes) = 0;
  virtual void flush() = 0;
  // Valid until release().
  virtual uint32_t receive(Received* out, uint32_t max) = 0;
  virtual void release() = 0;
};

// "AF_XDP" or "DPDK", and the name of the program.
extern const char* const kKind;
extern const char* const kProgram;
// Prepares for open_port(); `arguments` are those of DPDK's environment.
void prepare_ports(const std::string& arguments);
// An interface, or a DPDK port's device arguments. Exits with a message when it cannot be had.
std::unique_ptr<Port> open_port(const std::string& name);

[[noreturn]] void fail(const std::string& what);

}  // namespace frame_limit
